"""Decides whether an identifier names a secret, and with what confidence."""

from functools import lru_cache

from holdfast.text.lazy import Lazy
from holdfast_redaction.layers.values import FAINT, PASSWORD, STRONG, WEAK

#: Each secret's name contains at least one entry, in lower case. The search starts at these.
HINTS = (
    "pass", "pasw", "psw", "pssw", "pwd", "pw", "secret", "token", "key", "cred", "auth", "pin", "kennwort",
    "contrasen", "salt", "cookie", "bearer", "seed", "mnemonic", "licen", "recovery", "otp", "login", "log in",
    "logged in", "sign in", "schluessel", "jeton", "clave", "mot de passe", "mots de passe", "senha", "hesl", "haslo",
    "sifre", "parol", "mdp", "wachtwoord", "adgangskode", "salasana", "kata sandi", "psk", "zugangsdaten",
    "anmeldedaten", "identifiants", "basic auth", "http auth",
)  # fmt: skip
#: The same outside of ASCII.
FOREIGN_HINTS = (
    "contraseñ", "schlüssel", "hasł", "şifre", "парол", "密码", "密碼", "口令", "パスワード", "비밀번호", "암호",
    "패스워드", "كلمة المرور", "كلمة السر", "كلمة مرور", "lösenord", "jelszó", "पासवर्ड", "mật khẩu", "סיסמה", "รหัสผ่าน",
    "暗証番号", "الرمز السري",
)  # fmt: skip
#: Passwords in other languages than English, with their endings.
_FOREIGN = Lazy(
    r"mots? de passe|mdp|(?:\w*(?:pass|kenn)wort|wachtwoord|passord|adgangskode|lösenord|salasana|jelszó)\w{0,3}"
    r"|kata sandi|पासवर्ड|mật khẩu|סיסמה|รหัสผ่าน|contrase[ñn](?:a|as|ia)|palavras?-passe|senhas?|hesl(?:o|a|u|em)"
    r"|has(?:ło|ła|łem|łu|lo|la)|\w*[şs]ifre\w{0,5}|parol(?:a|ă|e|ei|a[smny]\w{0,5})|парол(?:ь|я|ю|ем|и|ей)"
    r"|密[码碼]|口令|パスワード|비밀번호|암호|패스워드|كلمة (?:المرور|السر|مرور)|暗証番号|الرمز السري"
)
#: Names of secrets that may be four digits.
PINS = frozenset(("pin", "otp", "passcode", "code", "暗証番号", "الرمز السري"))

_WORDS = Lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: ``password``, also as it is abbreviated or misspelt.
_PASSWORD = Lazy(r"(?:pa?ss?wo?r?s?d|passphrase|passcode|motdepasse)s?$")
#: A noun behind a word without a sign between: ``accesstoken``.
_JOINED = Lazy(r"(\w+)(secret|token|(?<=\w\w)key)")
#: ``pass`` or ``pwd`` at a word's end, except in words such as ``bypass``.
_PASS = Lazy(r"(?!(?:by|com|encom|over|sur|tres|under|sub|multi|one|last|kee)pass)\w*pass|pw|pword|psk|(?:\w{2,})?pwd")
#: Words after the noun that make it a property of a secret.
_ABOUT = frozenset("""
    age alg algo algorithm algorithms arn array at attempts binding bindings board bucket budget budgets bytes
    cache callback chain changed chars check checker class code codes command comparison cost count counter
    counts created creation date deadline digest dir directory disabled down enabled encoder encoding endpoint
    endpoints entropy env error errors event exchange exists expiration expired expires expiry factory field
    fields file filename files fingerprint folder form format forms func function gen generator group handler
    handling hash hashed hasher hashes header headers help hint history holder id identifier ids index input
    interval issuer iterations kind label layout leak len length lifetime limit limits link list loader location
    lookup manager map max meta method middleware min minutes mode model module name named names namespace note
    number offset optional order override owner page pair param parameter params parser parts path paths pattern
    permissions placeholder policies policy position prefix press pressed process prompt protected provider rate
    reader ref reference references refs regex registry repository required requirements reset resolver ring
    rotate rotated rotation rule rules scanner schema scope scopes screen seconds server service set settings
    size source space spec stack state stats status storage store strategy strength stroke style suffix table
    tag template tests time timeout timestamp title tree ttl type types unit up update updated uri url usage
    used user username uuid valid validation validator value_type values var variable vault verified verifier
    version view visible volume warning width window word words writer
""".split())  # fmt: skip  # noqa: SIM905
#: Words before ``token`` that make it a position, a unit of text or a mark.
_NOT_TOKEN = frozenset("""
    audio bos cached cancel cancellation change cls column completion context continuation count current_page
    cursor delta design end eos first idempotency image input jsonweb last lexer mask masked max min next nextpage num
    output pad page pagination parser per position prev previous prompt reasoning resume row scroll sep special
    start stop sync syntax thinking total unk watch
""".split())  # fmt: skip  # noqa: SIM905
#: Words before ``key`` that make it a secret. After another word, like the name of a service, only a value that is
#: random or an id is one.
_SECRET_KEYS = frozenset("""
    access account admin aes api app application auth authentication client consumer cookie crypt crypto decryption
    deploy developer enc encrypt encryption fernet gateway hf hmac host jwt licence license management master private
    prod production project read rest root sdk secret secure server service session shared sign signing ssh ssl storage
    subscription test tls webhook wifi wlan wpa write
""".split())  # fmt: skip  # noqa: SIM905
#: Words after the noun that do not change its meaning.
_QUALIFIERS = frozenset("""
    value str string text plain plaintext raw base b encoded prod dev staging live new old default current primary
    secondary literal test local backup main confirm confirmation again stdin for
""".split())  # fmt: skip  # noqa: SIM905
#: Of a user and a password.
LOGINS = (
    "log in", "logged in", "sign in", "log into", "logged into", "sign into", "zugangsdaten", "anmeldedaten",
    "logindaten", "login-daten", "identifiants", "credenciales", "credenciais", "credenziali",
    *(f"{kind}{sign}auth{end}" for kind in ("basic", "http") for sign in " -_" for end in ("", "entication")),
)  # fmt: skip
#: Other names of secrets, which have further meanings.
_WEAK_NAMES = frozenset("""
    auth credential credentials creds cred bearer salt pepper cookie pin otp mnemonic authorization jwt sid login logins
    jeton clave
""".split())  # fmt: skip  # noqa: SIM905
#: Words before ``key`` that make it a key of a table, a map or a lock, or a public key.
_PLAIN_KEYS = frozenset("""
    add answer artifact ascii backspace blob blog branch bucket build bundle cache change checksum commit composite
    config content control correlation cursor data dedup deduplication delete dict digest dimension document down
    encoded enter entity entry env escape etag every extra fact feature field file filter fingerprint flag
    foreign free function golden group hash header home host hot hotkey id idempotency image index item job join
    json keyboard known label language last layer left locale lock lookup major map marker message meta metadata
    minor missing model natural next node object option order page parent part partition path pk press pressed
    previous primary prop property protobuf pub public queue range react record redis ref region registry remote
    request resource result return right route row s3 segment serial setting shard shift short sort sorted
    space stable state store stream sub subject surrogate tab tag task that the this thread topic
    trace translation translations tree type unique up url user value verification verifying version which
""".split())  # fmt: skip  # noqa: SIM905
#: ... and words that leave it open: some services sell such keys.
_OPEN = frozenset("""
    dsa ecdsa eddsa event gpg pgp query recv rsa search source storage
""".split())  # fmt: skip  # noqa: SIM905


def words(identifier: str) -> list[str]:
    """An identifier's words in lower case: ``awsSecret_KEY2`` is aws, secret, key, 2."""
    return [w.lower() for w in _WORDS.findall(identifier)]


def is_foreign(noun: str) -> bool:
    """Whether ``noun``, in lower case, is a word for passwords in another language than English."""
    return bool(_FOREIGN.fullmatch(noun))


@lru_cache(2048)
def strength(identifier: str) -> int:
    """The confidence that ``identifier`` names a secret: 0 for none, or FAINT, WEAK, STRONG or PASSWORD."""
    low = identifier.lower()
    if is_foreign(low):
        return PASSWORD
    if low.endswith(("schlüssel", "schluessel")):
        return STRONG if low.startswith(("api", "geheim", "zugangs", "zugriffs")) else FAINT
    parts = words(identifier)
    while parts and (parts[-1].isdigit() or (parts[-1] in _QUALIFIERS and len(parts) > 1)):
        parts.pop()
    if not parts:
        return 0
    found = 0 if parts[-1] in _ABOUT else _of_word(parts, low)
    if found or len(parts) < 2 or not _ABOUT.isdisjoint(parts[-2:]):
        return found
    return WEAK if _of_word(parts[:-1], "") >= STRONG else 0  # of what, is said behind it: API_KEY_SENDGRID


def _of_word(parts: list[str], low: str) -> int:
    *before, last = parts
    if joined := _JOINED.fullmatch(last):
        before, last = [*before, joined[1]], joined[2]
    glued = "".join(before[-2:]) + last if before else last
    if _PASSWORD.search(glued):
        is_about = {*before[:1]} & {"min", "max", "no", "has", "is", "forgot", "reset", "hide", "show", "needs"}
        return 0 if is_about else PASSWORD
    if _PASS.fullmatch(last):
        return PASSWORD if before or last not in ("pass", "pw") else WEAK
    if last in ("phrase", "key") and before and before[-1] in ("seed", "recovery", "mnemonic"):
        return PASSWORD
    if last in ("secret", "secrets"):
        return STRONG if before else WEAK
    if last == "token":
        if (before and before[-1] in _NOT_TOKEN) or any(b in ("max", "num", "count") for b in before):
            return 0
        return STRONG if before else WEAK
    if last in ("key", "keys") and before:
        return _of_key(before)
    if last == "seed" and before and before[-1] in ("otp", "totp", "hotp", "fa", "mfa"):
        return STRONG
    return WEAK if last in _WEAK_NAMES or low in LOGINS else 0


def _of_key(before: list[str]) -> int:
    """The confidence for a key with these words before it."""
    last = before[-1]
    if last in _SECRET_KEYS or "secret" in before or "api" in before:
        return STRONG
    if last in _OPEN:
        return FAINT
    return 0 if last in _PLAIN_KEYS else WEAK
