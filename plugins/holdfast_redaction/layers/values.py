# ruff: noqa: E501 - tables of patterns
"""Layer one, protected shapes, and the test that layers two and three apply to each value: can it be a secret?

A value is not a secret when it is a variable or a call that reads one, a placeholder, an earlier redaction, a path, a
type or algorithm name, or the id, hash, version, time or number of something else.
"""

import re
from functools import lru_cache

from holdfast.text.lazy import Lazy

#: A name's strength. A password may be any word, a named key (``api_key``) anything except a plain word, a bare
#: ``token`` only a random string, and an unknown key (``acme_key``) only a long random string.
FAINT, WEAK, STRONG, PASSWORD = 1, 2, 3, 4

MARK = "[REDACTED:"

_ID = Lazy(
    r"""(?:urn:uuid:)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}  # UUID
    | [0-7][0-9A-HJKMNP-TV-Z]{25}                                                                # ULID
    | [0-9a-f]{7,64} | [0-9A-F]{7,64} | [0-9a-f]{96} | [0-9a-f]{128}                             # commit, digest
    """,
    re.VERBOSE | re.ASCII,
)
#: ``session-`` or ``req_`` before an id.
_PREFIXED_ID = Lazy(
    r"[A-Za-z]{2,12}[_:-][0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[a-z]{2,12}[_:-][0-9a-f]{7,12}"
    r"|[a-z]{2,12}(?::[a-z]{2,12}|:\d{1,12})+",
    re.ASCII,
)
_SHAPE = Lazy(
    r"""(?:sha-?\d{1,3}(?:_\d+)?|md5|blake[23][bs]?(?:-?\d+)?|h1|xxh\w{0,4}|crc\w{0,4}|etag|w/)[:=$-]\S+  # digest
    | fact_[0-9a-f]{8}
    | [0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}                                          # traceparent
    | (?:[\w.-]+/[\w.-]+)?[\#!]\d{1,6} | [a-z][a-z_-]{1,30}\#\d{1,6} | (?-i:[A-Z][A-Z0-9]{1,9}-\d{1,6}) | GH-\d+                       # issue
    | [v^~=<>]{0,3}\d+(?:\.\d+){1,4}(?:[._+-]?[a-z]\w{0,30}(?:[.+-]\w{1,30})*)?                        # version
    | \d{4}-\d\d-\d\d(?:[T_]\S+)? | \d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:[ap]m|z)?                     # time
    | [-+~≈<>]{0,2}\d[\d,._]*(?:\s?(?:%|[kmgtp]i?b?|[munµ]?s|sec|secs|seconds?|min|mins|minutes?|h|hrs?|hours?|d|days?|weeks?|months?
        |years?|x|px|rem|em|k|m|tok|tokens?|bit|bits|bytes?|chars?|characters?|hz|mhz|ghz|usd|eur))?(?:/[a-z]{1,4})?          # number
    | pk_(?:test|live)_\w+                                                                       # publishable key
    | ssh-(?:rsa|dss|ed25519)\S* | ecdsa-\S+ | AAAA[BCE]3\S* | MII[A-Z]\S*                            # public key
    | (?:[0-9a-f]{2}:){5,}[0-9a-f]{2} | 0x[0-9a-f]{40}                                              # fingerprint, public address
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_REFERENCE = Lazy(
    r"""[$%@&*!?|<>({\[\\].* | \#\{.*                                    # $TOKEN, ${{ }}, %X%, <x>, {..}, [..], @file, *ref, !Ref
    | (?:[a-zA-Z_][\w]*(?:\.|->|::|\?\.))+[a-zA-Z_][\w]*(?::[a-zA-Z_]\w*)?[;,:]? # config.token, module.name:object
    | [a-zA-Z_][\w.:>-]*[(\[{<].*                                       # call(), os.environ["X"], Optional[str]
    | (?:env|vault|op|ssm|file|ref|secret|secrets|keyring|keychain|pass|sops|akv|gcpsm|awssm|doppler|bws|infisical|arn|config|projects)[:+].*
    | secrets?[./].* | projects/.*
    | [a-z][a-z0-9+.-]*://.*                                            # a URL; its password is found as such
    | (?:~|\.{1,2})?/[\w.@~+/-]*[a-zA-Z_][\w.@~+/-]* | [a-zA-Z]:\\.* | [\w.@~-]+(?:/[\w.@~-]+)*\.(?:py|js|ts|tsx|jsx|json|ya?ml|toml|txt|md|pem|key
        |crt|cer|pub|env|ini|cfg|conf|sh|go|rs|rb|java|kt|c|h|cpp|html|css|xml|sql|lock|log|db|pdf|png|csv|gpg|asc|enc|kdbx|p12|pfx|jks)
        (?:(?::\d+){1,2}|\#L\d+)?                                         # with a line
    | [a-z_][a-z0-9_-]*(?:/[a-z_][a-z0-9_.-]*){1,6}                          # a/path/of/words
    | \\[nrt"'].* | [\#.][A-Za-z][A-Za-z_-]*                              # #a-selector
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
#: Code words that are not references. All other references contain a sign other than ``_`` and ``-``.
_KEYWORDS = frozenset(("await", "new", "return", "lambda", "not", "yield", "def", "fn", "func", "typeof", "async"))
_SIGNLESS = Lazy(r"[A-Za-z0-9_-]+")
#: Placeholder words, in pieces of letters and digits.
_STANDS = frozenset("""
    your example changeme changethis replace replaceme replacethis replacewith placeholder insert todo fixme redacted
    masked hidden dummy foo bar baz foobar removed omitted elided censored sanitized here
""".split())  # fmt: skip  # noqa: SIM905
_PIECES = Lazy(r"[a-z0-9]+")
#: ... of two words.
_STAND = Lazy(
    r"(?:^|[^a-z0-9])(?:change[-_](?:me|this)|my[-_](?:token|key|secret|password|api[-_]?key))(?:[^a-z0-9]|$)"
    r"|^(?:your|my|the|some|a|an|insert|enter)[-_ ].*(?:token|key|secret|password|passwd|here|value)"
)
#: Signs for omitted characters.
_LEFT_OUT = ("...", "…", "***", "xxxxx", "XXXX", "____", "----", "•••", "●●●", "███", "[REDACTED")
_TECH = frozenset("""
    2fa a aes aes128 aes192 aes256 argon2 argon2i argon2id ascii auth0 base16 base32 base58 base62 base64
    base64url bcrypt blake2 blake2b blake2s blake3 brotli cl100k cl100k_base cp1252 des des3 ec2 ecdsa ed25519
    ed448 eddsa es256 es384 es512 fido2 fips140 gcm gpt2 gpt3 gpt4 gpt4o gzip h2 hex hex32 hex64 hmac hs256
    hs384 hs512 http2 http3 i18n ipv4 ipv6 iso8601 jwt k3s k8s l10n latin1 m2m md5 mfa ntlmv2 o200k o200k_base
    oauth oauth1 oauth2 oauth2.0 otp p256 p384 p521 pbkdf2 pkcs1 pkcs11 pkcs12 pkcs7 pkcs8 ps256 py3 python2
    python3 rfc6749 rfc6750 rfc7519 rs256 rs384 rs512 rsa2048 rsa4096 s3 saml2 scrypt sha1 sha2 sha256 sha3
    sha512 sigv4 sse4 ssh2 ssl3 step1 step2 tls1 tls12 tls13 u2f utf-8 utf16 utf8 v1 v2 v3 v4 v5 web3 win32
    x25519 x509 x86 zstd
""".split())  # fmt: skip  # noqa: SIM905
_STOP = frozenset("""
    a absent access admin again already also always an and any api_key apikey are args array as at auth
    authentication authorization auto automatic available basic be bearer been being blank bool boolean budget
    but by bytes can changed changeme char closed complex compromised confidential config configuration const
    cookie correct could count credential credentials debug default deleted dict did different digest disabled
    do does done dummy each else email empty enabled encrypted env environment error every example expired
    expiry exposed external failed fails fake false few field file final fixme for from generated getpass had
    has hash hashed hashes have header here hidden hmac how if ignore ignored important in incorrect info
    inherit input inside int integer internal into invalid is it its jwt key keychain keyring keys kwargs later
    leaked length let limit list local login long managed manual many map masked may might missing mock must n/a
    na name nan needed never new nil no none not now null number oauth oauth2 object of off oidc ok okay old on
    one only open optional optional[str] or outside pass passcode passed passes passphrase passwd password path
    pending placeholder plain plainly plaintext policy present private prompt protected provider public pw pwd
    random raw read ready redacted refresh remote removed request required requires response revoked rotated
    rotation safe safely same saml sample secret secrets secretstr secure securely securestring see self
    sensitive session set settings shall shared short should sign signature signed simple size skip skipped some
    soon sso stable static stdin still stored str strategy string strong success successful supported tba tbd
    test testing text that the then there these this those three to todo token tokens true two type types
    unavailable unchanged undefined unknown unsafe unset unsupported use used user username users uses using
    valid value values var varchar variable vault via void warning was weak were what when where which who why
    will with without would write wrong yes
""".split())  # fmt: skip  # noqa: SIM905
#: Words that make several words a sentence rather than a passphrase.
COMMON = frozenset("""
    a an and are as at be by for from in is it must not of on or should that the this to was we with you
""".split())  # fmt: skip  # noqa: SIM905
_DOTTED = Lazy(r"\w+(?:\.\w+)+", re.ASCII)
_LEET = Lazy(r"[A-Za-z]\d+[A-Za-z]|[A-Z][a-z]+\d+$", re.ASCII)
#: A regular expression, and a class name.
_PATTERN = Lazy(r"\[[^\]\s]{2,}\](?:[{+*?]|$)|\(\?[:iP<]|\{\d+,?\d*\}")
_CLASS = Lazy(
    r"(?:\w+\.)?[A-Z][a-z]\w*(?:Key|Token|Secret|Credentials?|Password|Bytes|Str|Array|Buffer|Type|Enum)s?[,;]?",
    re.ASCII,
)
#: The shortest secret, by its name's strength.
_LEAST = {PASSWORD: 3, STRONG: 6, WEAK: 6, FAINT: 20}
#: Maximum characters of a value to check. More would take time without changing the answer.
JUDGED = 128
_NOUN = Lazy(r"(?i)pass|secret|token|key|cred|auth|pwd|env|value|config|setting|param|arg|input|field|hash")
#: Words followed by a number, as in `gpt-4o-mini-2024` and `test_case_12`, and the separators between them.
_NUMBERED = Lazy(r"[a-z]{1,12}\d{1,4}|[a-z]?\d+[a-z]?")
_SEPARATORS = Lazy(r"[_.\-/:]")
_LETTER = Lazy(r"[A-Za-z]")
_CAMEL = Lazy(r"[a-z]*(?:[A-Z][a-z]+)+", re.ASCII)
_DIGIT_OR_SYMBOL = Lazy(r"[0-9!@#$%^&*+=~|?]")
#: Words and short numbers, as titles have in names of files and of issues: ``2-4-delete-trip-flow``.
_SLUG = Lazy(r"(?:\d{1,3}[-_.])*[a-z]{2,}(?:[-_.](?:[a-z]{2,}|\d{1,3})){2,}", re.ASCII)
_PLAIN = Lazy(r"[A-Za-z]+(?:[_.'’/-][A-Za-z]+)*", re.ASCII)


def is_placeholder(value: str) -> bool:
    """Whether ``value`` is a placeholder for a secret: ``<your-token>``, ``xxxx``, an earlier redaction."""
    if len(set(value)) <= (2 if len(value) > 3 else 1):
        return True
    low = value.lower()
    if value.isalnum() and value.isascii():  # one piece, as most tokens are; not of one letter, see above
        return low in _STANDS or "xxxxx" in value or "XXXX" in value or low == "xxx"
    if value[:1] + value[-1:] in ("<>", "{}") or low.startswith("&lt;"):
        return True
    pieces = _PIECES.findall(low)
    if any(sign in value for sign in _LEFT_OUT) or not _STANDS.isdisjoint(pieces):
        return True
    if "xxx" in low and any(len(piece) > 2 and not piece.strip("x") for piece in pieces):
        return True
    return len(pieces) > 1 and bool(_STAND.search(low))


@lru_cache(1024)
def is_protected(word: str) -> bool:
    """Whether the whole ``word`` has a shape that alone is never a secret: id, digest, version, time, number."""
    return bool(_ID.fullmatch(word) or _SHAPE.fullmatch(word))


def is_reference(value: str) -> bool:
    """Whether ``value`` is code that reads a secret, a variable, a template, a path or a URL."""
    if _SIGNLESS.fullmatch(value):
        return value in _KEYWORDS
    return bool(_REFERENCE.fullmatch(value)) and not _is_dotted_token(value)


def _is_dotted_token(value: str) -> bool:
    """Whether one part is too long and too random for an attribute name, as in a JWT."""
    parts = value.split(".")
    is_file = len(parts[-1]) < 8 and len(value) < JUDGED  # a name's ending; a longer value was cut
    if len(parts) == 1 or "/" in value or "(" in value or is_file:
        return False
    return any(
        len(part) >= 16 and part.replace("-", "a").isalnum() and sum(map(str.isdigit, part)) >= 3 for part in parts
    )


def _is_dotted_password(value: str) -> bool:
    """Whether it is not an attribute although it has a dot: digits inside a word, or at its end after a capital."""
    return (
        bool(_DOTTED.fullmatch(value))
        and not _NOUN.search(value)
        and any(_LEET.search(part) and part.lower() not in _TECH for part in value.split("."))
    )


def is_term(value: str) -> bool:
    """Whether ``value`` consists of algorithm names (``PBKDF2-hashed``) or words that describe secrets."""
    pieces = [p for p in re.split(r"[-_/.,]", value.lower()) if p]
    return any(p in _TECH and not p.isalpha() for p in pieces) or all(p in _STOP or p in _TECH for p in pieces)


def is_random(value: str) -> bool:
    """Whether letters and digits are mixed in a way that words and identifiers are not."""
    if len(value) < 8:
        return False
    digits = sum(map(str.isdigit, value))
    if not digits or digits == len(value):
        return not digits and len(value) >= 10 and is_mixed(value) and len(set(value)) >= 8
    if value.isalnum():
        return digits >= 4 or not _NUMBERED.fullmatch(value)
    parts = _SEPARATORS.split(value)
    return not all(p.isdigit() or p.isalpha() or _NUMBERED.fullmatch(p) for p in parts) or (
        digits >= 4 and len(parts) == 1
    )


def is_mixed(value: str) -> bool:
    """Whether upper and lower case change more often than in CamelCase. Signs between letters do not count."""
    value = value.replace("_", "").replace("-", "")
    if not value.isalpha() or _CAMEL.fullmatch(value):
        return False
    changes = sum(a.islower() != b.islower() for a, b in zip(value, value[1:], strict=False))  # noqa: RUF007
    return changes >= len(value) / 3


def can_be_secret(value: str, strength: int, *, quoted: bool) -> bool:
    """Whether ``value``, assigned to a name of that strength, is a secret to mask."""
    bare = value[:JUDGED].strip().strip("'\"")
    if len(bare) < _LEAST[strength] or MARK in value or is_placeholder(bare) or (bare.isalpha() and not bare.isascii()):
        return False
    low = bare.lower().strip(".,;:!?()[]{}")
    if low in _STOP or (low in _TECH and strength < PASSWORD):
        return False
    between = bare[0] in "+.,)&" and bare[-1] in "+.,:=([{&"
    if between or bare.startswith(("$(", "${", "{{", "<(")) or _PATTERN.search(bare):  # code, or an expression
        return False
    if strength < PASSWORD and _CLASS.fullmatch(bare):
        return False
    if " " in bare:
        return _phrase(bare, strength, quoted=quoted) or _with_scheme(bare)
    if bare[0] in "$%<{" or ((not quoted and bare[0] in "@&*!?|>([\\") and is_reference(bare)):
        return _odd_password(bare, strength, quoted=quoted)
    if _ID.fullmatch(bare) or (not quoted and strength < PASSWORD and _PREFIXED_ID.fullmatch(bare)):
        prefixed = _PREFIXED_ID.fullmatch(bare) and not bare.startswith(("sk_", "sk-"))  # a secret key
        if strength > WEAK:  # a strong name decides, unless the value names itself an id
            return strength == PASSWORD or (len(bare) >= 8 and not prefixed)
        return bare.isalnum() and len(bare) == 32 if strength == FAINT else len(bare) >= 16 and not prefixed
    if _SHAPE.fullmatch(bare):
        return strength == PASSWORD and ((bare.isdigit() and len(bare) >= 4) or ("#" in bare[3:] and "/" not in bare))
    if is_reference(bare):
        secret = _referring_secret(bare, strength, quoted=quoted)
        if secret is not None:
            return secret
    if _PLAIN.fullmatch(bare):
        return _word(bare, strength, quoted=quoted)
    if strength < PASSWORD and _SLUG.fullmatch(bare):
        return False
    return strength > WEAK or is_random(bare) or (quoted and has_secret_mix(bare) and len(bare) >= 8)


def _referring_secret(value: str, strength: int, *, quoted: bool) -> bool | None:
    """Whether an apparent reference is a secret after all. None if it is to be checked like any value."""
    if strength == PASSWORD and _is_dotted_password(value):
        return True
    if not quoted:
        return _random_path(value)
    if "/" in value and _random_path(value):
        return None
    return False if value[0] in "/.~#" or not has_secret_mix(value) else None


def _odd_password(value: str, strength: int, *, quoted: bool) -> bool:
    """A password may begin with ``$`` or ``%``: it is one when it could not be a name."""
    rest = value.lstrip("\\$%@&*!?")
    return (
        strength == PASSWORD
        and value[0] not in "<{(["
        and rest[:1] not in (",", ";", ")")  # a parameter of a statement
        and not re.fullmatch(r"[\w.:-]*(?:[%\[(]|/.*)?|[({\[].*", rest)
        and (quoted or has_secret_mix(rest))
    )


def _random_path(value: str) -> bool:
    """Base64 may hold slashes. A path of random characters with digits and both cases is not a path."""
    parts = value.rstrip("=").split("/")
    return (
        len(value) >= 24
        and not value.startswith((".", "~"))
        and "." not in value
        and all(c.isalnum() or c in "/+=" for c in value)
        and (any(len(p) >= 12 and is_random(p) and p.lower() != p for p in parts))
    )


def has_secret_mix(value: str) -> bool:
    """Letters with digits or with the symbols that people put into passwords."""
    if value.isascii():
        return bool(_LETTER.search(value) and _DIGIT_OR_SYMBOL.search(value))
    return any(map(str.isalpha, value)) and any(c.isdigit() or c in "!@#$%^&*+=~|?" for c in value)


def _phrase(value: str, strength: int, *, quoted: bool) -> bool:
    """Several words in quotes are a passphrase only if they do not read as a message."""
    words = value.split()
    return (
        strength == PASSWORD
        and quoted
        and len(words) <= 8
        and not any(w.lower().strip(".,:;!?") in _STOP for w in words)
        and (has_secret_mix(value) or (len(words) >= 3 and value.islower()))
        and value[-1] not in ".:?"
    )


def _with_scheme(value: str) -> bool:
    """A token after the word that names its kind."""
    token = value.partition(" ")[2]
    is_other = " " in token or _ID.fullmatch(token) or is_reference(token)
    return len(token) >= 20 and not is_other and is_random(token)


def _word(value: str, strength: int, *, quoted: bool) -> bool:
    """Whether it has only letters, perhaps with separators, as a name or a word has."""
    if strength <= WEAK:
        return is_random(value)
    if is_term(value):
        return False
    separated = not value.isalpha()
    if _NOUN.search(value) and (separated or not quoted):
        return quoted and strength == PASSWORD and len(value) >= 8 and "_" not in value and "." not in value
    if strength == PASSWORD:
        camel = not quoted and value[:1].islower() and not value.islower() and not is_mixed(value)
        return not camel and not ("_" in value and not quoted and value.islower())
    return is_random(value) or (quoted and len(value) >= 8 and not separated)
