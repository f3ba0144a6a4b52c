"""Labelled texts for redaction, made from a seed: no secret lies in the repository.

Formats are written down here a second time, from the providers' documentation and apart from rules.toml, so that a
mistake in the one does not hide in the other. ``{A36}`` stands for 36 characters of alphabet A.
"""

# ruff: noqa: E501 - tables of formats
from __future__ import annotations

import base64
import json
import random
import re
from typing import NamedTuple


class Case(NamedTuple):
    """A text and the secret in it, or "" for a clean one; ``kind`` says what it is."""

    kind: str
    text: str
    secret: str


ALPHABETS = {
    "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "K": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "L": "abcdefghijklmnopqrstuvwxyz0123456789",
    "H": "0123456789abcdef",
    "D": "0123456789",
    "W": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
    "B": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
}
UUID = "{H8}-{H4}-4{H3}-a{H3}-{H12}"

FORMATS: dict[str, str] = {
    "aws access key": "AKIA{K16}", "aws temporary key": "ASIA{K16}", "google api key": "AIza{W35}",
    "google oauth secret": "GOCSPX-{W28}", "google oauth token": "ya29.{W120}", "google refresh token": "1//0{W90}",
    "azure client secret": "{A3}8Q~{A34}", "azure devops pat": "{A76}AZDO{A4}",
    "alibaba": "LTAI{A20}", "tencent": "AKID{A32}", "yandex api key": "AQVN{W35}", "yandex oauth": "y0_{W55}",
    "digitalocean pat": "dop_v1_{H64}", "digitalocean oauth": "doo_v1_{H64}", "digitalocean refresh": "dor_v1_{H64}",
    "scaleway": "SCW{U17}", "heroku": "HRKU-AA{W58}", "fly": "fm2_{B200}", "fly old": "fo1_{W43}", "vercel": "vcp_{A56}",
    "netlify": "nfp_{A36}", "render": "rnd_{A28}", "supabase": "sbp_{H40}", "supabase secret": "sb_secret_{W31}",
    "planetscale password": "pscale_pw_{W43}", "planetscale token": "pscale_tkn_{W43}", "neon": "napi_{L64}",
    "github classic": "ghp_{A36}", "github oauth": "gho_{A36}", "github user": "ghu_{A36}", "github server": "ghs_{A36}",
    "github refresh": "ghr_{A76}", "github fine-grained": "github_pat_{A22}_{A59}", "gitlab pat": "glpat-{W20}",
    "gitlab routable": "glpat-{W27}.01.{L9}", "gitlab deploy": "gldt-{W20}", "gitlab runner": "glrt-{W20}", "gitlab job": "glcbt-{H2}_{W20}",
    "gitlab trigger": "glptt-{H40}", "gitlab feed": "glft-{W20}", "gitlab agent": "glagent-{W50}", "gitlab oauth": "gloas-{H64}",
    "bitbucket app password": "ATBB{A32}", "bitbucket token": "ATCTT3xFfG{W170}={U8}", "atlassian": "ATATT3xFfG{W170}={U8}",
    "circleci": "CCIPAT_{A22}_{H40}", "buildkite": "bkua_{H40}", "sonar user": "squ_{H40}", "sonar project": "sqp_{H40}",
    "sourcegraph": "sgp_{H40}", "npm": "npm_{A36}", "pypi": "pypi-AgEIcHlwaS5vcmc{W150}", "rubygems": "rubygems_{H48}", "crates": "cio{A32}",
    "docker pat": "dckr_pat_{W27}", "docker org": "dckr_oat_{W32}", "artifactory key": "AKCp{A69}", "artifactory reference": "cmVmd{A59}",
    "nuget": "oy2{L43}", "clojars": "CLOJARS_{L60}", "slack bot": "xoxb-{D12}-{D13}-{A24}", "slack user": "xoxp-{D12}-{D12}-{D13}-{H32}",
    "slack app": "xapp-1-A{U10}-{D13}-{H64}", "slack config": "xoxe.xoxp-1-{A163}", "slack refresh": "xoxe-1-{A147}",
    "slack webhook": "https://hooks.slack.com/services/T{U10}/B{U10}/{A24}",
    "discord bot": "MT{A24}.G{A5}.{W38}", "discord webhook": "https://discord.com/api/webhooks/{D18}/{W68}",
    "telegram": "{D10}:AA{W33}", "stripe secret": "sk_live_{A24}", "stripe long": "sk_live_51{A97}", "stripe restricted": "rk_live_{A24}",
    "stripe test": "sk_test_{A24}", "stripe webhook": "whsec_{A32}", "square": "EAAA{W60}", "square secret": "sq0csp-{W43}",
    "braintree": "access_token$production${L16}${H32}", "plaid": "access-production-" + UUID, "shopify admin": "shpat_{H32}",
    "shopify custom": "shpca_{H32}", "shopify partner": "shppa_{H32}", "shopify shared": "shpss_{H32}", "razorpay": "rzp_live_{A14}",
    "flutterwave": "FLWSECK-{L32}-X", "twilio api key": "SK{H32}", "sendgrid": "SG.{W22}.{W43}", "mailgun": "key-{H32}",
    "mailgun new": "{H32}-{H8}-{H8}", "mailchimp": "{H32}-us12", "brevo": "xkeysib-{H64}-{A16}", "resend": "re_{A8}_{A24}",
    "mailersend": "mlsn.{H64}", "telnyx": "KEY0{U31}_{A22}", "anthropic": "sk-ant-api03-{W93}AA", "anthropic admin": "sk-ant-admin01-{W93}AA",
    "anthropic oauth": "sk-ant-oat01-{W93}AA", "openai legacy": "sk-{A20}T3BlbkFJ{A20}", "openai project": "sk-proj-{W74}T3BlbkFJ{W74}",
    "openai service": "sk-svcacct-{W74}T3BlbkFJ{W74}", "openai admin": "sk-admin-{W74}T3BlbkFJ{W74}", "openrouter": "sk-or-v1-{H64}",
    "deepseek": "sk-{H32}", "hugging face": "hf_{A34}", "groq": "gsk_{A52}", "perplexity": "pplx-{A48}", "replicate": "r8_{A37}",
    "xai": "xai-{A80}", "cerebras": "csk-{L48}", "nvidia": "nvapi-{W64}", "langsmith": "lsv2_pt_{H32}_{H10}", "langfuse": "sk-lf-" + UUID,
    "pinecone": "pcsk_{A6}_{A63}", "tavily": "tvly-dev-{A32}", "elevenlabs": "sk_{H48}", "databricks": "dapi{H32}", "databricks oauth": "dose{H32}",
    "new relic user": "NRAK-{U27}", "new relic license": "{H36}NRAL", "new relic browser": "NRJS-{H19}", "grafana service": "glsa_{A32}_{H8}",
    "grafana cloud": "glc_{B120}", "sentry user": "sntryu_{H64}", "sentry org": "sntrys_eyJ{A80}_{B43}", "dynatrace": "dt0c01.{U24}.{U64}",
    "posthog": "phx_{A43}", "launchdarkly": "sdk-" + UUID, "tailscale": "tskey-auth-{A12}CNTRL-{A32}", "contentful": "CFPAT-{W43}",
    "mapbox": "sk.eyJ{A80}.{W22}", "linear": "lin_api_{A40}", "linear oauth": "lin_oauth_{H64}", "notion": "ntn_{A46}", "notion old": "secret_{A43}",
    "airtable": "pat{A14}.{H64}", "figma": "figd_{W40}", "clickup": "pk_{D8}_{U32}", "postman": "PMAK-{H24}-{H34}", "typeform": "tfp_{A44}",
    "hubspot": "pat-na1-" + UUID, "dropbox": "sl.{W136}", "facebook": "EAACEdEose0cBA{A120}", "linkedin": "AQV{W180}",
    "salesforce": "00D{A12}!AQ{A90}", "vault service": "hvs.{W90}", "vault batch": "hvb.{W130}", "vault legacy": "s.{A24}",
    "terraform": "{A14}.atlasv1.{W67}", "pulumi": "pul-{H40}", "doppler": "dp.pt.{A43}", "doppler service": "dp.st.prd.{A43}",
    "1password": "ops_eyJ{A250}", "1password secret key": "A3-{U6}-{U11}-{U5}-{U5}-{U5}", "age": "AGE-SECRET-KEY-1{U58}", "openshift": "sha256~{W43}",
    "rancher": "token-{L5}:{L54}", "octopus": "API-{U32}", "okta": "00{W40}", "trello": "ATTA{H64}{U8}", "apify": "apify_api_{A36}",
    "k3s": "K10{H64}::server:{H32}", "prefect": "pnu_{A36}", "duffel": "duffel_live_{W43}", "harness": "pat.{A22}.{H24}.{A20}",
    "infisical": "st.{H24}.{H32}.{H32}", "bitwarden": "0." + UUID + ".{A30}:{B22}==", "twitch": "oauth:{L30}", "easypost": "EZAK{A54}",
    "sourcegraph instance": "sgp_{H16}_{H40}", "encoded jwt": "ZXlKaGJHY2lPaUpJVXpJMU5pSjku{A120}", "intra 42": "s-s4t2ud-{H64}",
    "adobe": "p8e-{W32}", "dependency-track": "odt_{A32}", "cockroach": "CCDB1_{A22}_{A40}", "docker swarm": "SWMKEY-1-{A43}",
    "asaas": "$aact_prod_{A40}", "devin": "apk_user_{A120}=", "cursor": "key_{H64}", "gc notify": "gcntfy-ci-" + UUID + "-" + UUID,
    "aikido": "AIK_SECRET_{A64}", "truenas": "3-{A64}", "facebook app": "{D16}|{W27}", "bcrypt": "$2b$12${A53}", "sha512-crypt": "$6${A8}${A86}",
    "teams webhook": "https://outlook.office.com/webhook/" + UUID + "@" + UUID + "/IncomingWebhook/{H32}/" + UUID,
}  # fmt: skip

#: How an agent comes to write down a bare token.
_AROUND = (
    "{}", "export SERVICE_KEY={}", "The run failed with {} in the log.", 'curl -H "X-Key: {}" https://api.service.dev/v1/run',
    '{{"value": "{}", "ok": true}}', "- tried `{}`, got 401", "user: here it is: {}\nassistant: thanks", '"stdout": "done\\n{}\\n"',
)  # fmt: skip

_STRUCTURED = ("jwt", "private key", "truncated key", "escaped key", "openssh key", "pgp key", "putty key", "basic header", "bearer header",
    "postgres url", "mysql url", "mongodb url", "redis url", "amqp url", "git url", "odbc", "azure storage", "azure sas", "npmrc", "netrc",
    "docker config", "kubeconfig", "cookie", "aws secret", "heroku uuid", "datadog", "twilio auth", "curl user", "mysql flag", "gcp service account",
    "jdbc", "pgpass", "sql", "url query", "sshpass", "wireguard")  # fmt: skip

_NAMES = (
    "password", "DB_PASSWORD", "dbPassword", "db.password", "spring.datasource.password", "POSTGRES_PASSWORD", "MYSQL_ROOT_PASSWORD", "admin_password",
    "passwd", "SMTP_PASS", "redis-password", "api_key", "apiKey", "API_KEY", "apikey", "x-api-key", "STRIPE_API_KEY", "OPENAI_API_KEY", "client_secret",
    "clientSecret", "CLIENT_SECRET", "app_secret", "SECRET_KEY", "secretKey", "JWT_SECRET", "SESSION_SECRET", "secret_key_base", "auth_token", "authToken",
    "ACCESS_TOKEN", "accessToken", "refresh_token", "GITHUB_TOKEN", "BOT_TOKEN", "encryption_key", "ENCRYPTION_KEY", "SIGNING_KEY", "private_key",
    "webhook_secret", "VAULT_TOKEN", "userPassword", "ldap_bind_password", "token", "secret", "pwd", "passphrase", "AWS_SECRET_ACCESS_KEY", "storage_key",
)  # fmt: skip
_ASSIGNMENTS = (
    "{n}={v}", "export {n}={v}", "{n} = {v}", '{n} = "{v}"', "{n}='{v}'", '{n}: "{v}"', "{n}: {v}", '"{n}": "{v}"', "'{n}': '{v}',", "  {n}: {v}  # rotate",
    '{n} := "{v}"', '"{n}" => "{v}",', 'os.environ["{n}"] = "{v}"', 'const {n} = "{v}";', "--{n}={v}", "tool --{n} {v} --verbose", '{{\\"{n}\\": \\"{v}\\"}}',
    "<{n}>{v}</{n}>", '- name: {n}\n  value: "{v}"', "| {n} | {v} |", "set {n}={v}", "call({n}='{v}', timeout=3)", '{n}: str = "{v}"', "define('{n}', '{v}');",
    "-e {n}={v} image", "{n}={v}, user=bob", "- **{n}**: {v}", "helm upgrade --set {n}={v} app",
    '{n} ::= "{v}"', "${n} .= '{v}';", 'var {n} string = "{v}"', "{n} := []byte(\"{v}\")", '{n} ||= "{v}"',
)  # fmt: skip
_PROSE = (
    "the password is {v}", "The password for the staging database is {v}.", "password was changed to {v}", "use {v} as the password",
    "log in as admin with password {v}", 'the root password is "{v}"', "our wifi password: {v}", "I set the admin password to {v} yesterday",
    "credentials: admin / {v}", "creds are deploy:{v}", "login with admin / {v}", "pw is {v}", "the passphrase is `{v}`", "My password is {v}, please remember it",
    "You can sign in with user bob and password {v}", "The db password (staging) is {v}", "password -> {v}", "the pass is {v}",
    "remember: the sudo password is {v}!", "the new password should be {v}", "ssh pass: {v}", "{v} is the password for the NAS",
    "Das Passwort ist {v}", "the vault password they gave us is {v}", "Le mot de passe est {v}", "La contraseña es {v}",
    "The readonly account has pass {v}.", "sudo password on prod = {v}", "Mailbox login: office@acme.dev, password {v}",
)  # fmt: skip
_PROSE_TOKENS = (
    "my token: {v}", "the API key is {v}", "here is the access token: {v}", "the token for CI is {v}", "use {v} as the api key", "API key for the weather service: {v}",
    "the secret is {v}", "The client secret we got is {v}", "auth token = {v}", "set the webhook secret to {v}", "with token {v} it works", "the key to the vault: token {v}",
    "Stored token {v} in the keychain.", "They rotated the signing secret; the new one is {v}.", "put {v} into the GITHUB_TOKEN variable",
    "The webhook is signed with {v} (shared secret).", "the token they shared yesterday, {v}, is revoked", "Secret key base is {v}",
)  # fmt: skip
_WEAK = (
    "hunter2",
    "Tr0ub4dor&3",
    "S3cret!",
    "P@ssw0rd",
    "letmein99",
    "qwerty123!",
    "Summer2026!",
    "correct-horse-7",
    "aB3$xy9Q",
    "dragon!42",
    "n0tSoS3cure",
    "kX9#mP2$vL",
)


def fill(template: str, rng: random.Random) -> str:
    """``template`` with each ``{X9}`` replaced by nine characters of alphabet X."""

    def characters(found: re.Match[str]) -> str:
        alphabet = ALPHABETS[found[1]]
        return "".join(rng.choice(alphabet) for _ in range(int(found[2])))

    return re.sub(r"\{([A-Z])(\d+)\}", characters, template)


def formats(seed: int = 1, each: int = 4) -> list[Case]:
    """Tokens in the published formats, each in several surroundings."""
    rng = random.Random(seed)
    cases = []
    for name, template in FORMATS.items():
        for around in rng.sample(_AROUND, each):
            secret = fill(template, rng)
            cases.append(Case(name, around.format(secret), _core(secret)))
    for kind in _STRUCTURED:
        cases += [Case(kind, *_structured(kind, rng)) for _ in range(each)]
    return cases


def _core(secret: str) -> str:
    """What may not stay: of a webhook URL only its last part is secret."""
    return secret.rpartition("/")[2] if secret.startswith("https://") else secret


def _password(rng: random.Random) -> str:
    return fill(rng.choice(("{A12}", "{A8}!{A4}", "{L10}#{D2}", "{W20}", "{H32}", "{A16}", "{B24}")), rng).strip(
        "-_/+"
    ) + rng.choice("aK7x")


def _structured(kind: str, rng: random.Random) -> tuple[str, str]:
    key = "\n".join(fill("{B64}", rng) for _ in range(12)) + "\n" + fill("{B40}==", rng)
    middle = key.split("\n")[5]
    p = fill("{A14}", rng)
    b64 = base64.b64encode(f"user:{p}".encode()).decode()
    made: dict[str, tuple[str, str]] = {
        "jwt": (f"got {(jwt := fill('eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{A60}.{W43}', rng))} back", jwt),
        "private key": (f"-----BEGIN RSA PRIVATE KEY-----\n{key}\n-----END RSA PRIVATE KEY-----\n", middle),
        "truncated key": (f"-----BEGIN PRIVATE KEY-----\n{key}", middle),
        "escaped key": (
            json.dumps({"key": f"-----BEGIN EC PRIVATE KEY-----\n{key}\n-----END EC PRIVATE KEY-----\n"}),
            middle,
        ),
        "openssh key": (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{key}\n-----END OPENSSH PRIVATE KEY-----", middle),
        "pgp key": (
            f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{key}\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----",
            middle,
        ),
        "putty key": (
            f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 2\n{key}\nPrivate-Lines: 1\n{b64}\n",
            b64,
        ),
        "basic header": (f"Authorization: Basic {b64}", b64),
        "bearer header": (f'-H "Authorization: Bearer {p}{p}"', p + p),
        "postgres url": (f"DATABASE_URL=postgresql://app:{p}@db.internal:5432/app", p),
        "mysql url": (f"mysql+pymysql://root:{p}@127.0.0.1/shop?charset=utf8", p),
        "mongodb url": (f"mongodb+srv://svc:{p}@cluster0.abcde.mongodb.net/?retryWrites=true", p),
        "redis url": (f"REDIS_URL: redis://:{p}@cache:6379/0", p),
        "amqp url": (f"amqps://worker:{p}@mq.local/vhost", p),
        "git url": (f"git clone https://oauth2:{p}@git.corp.dev/team/app.git", p),
        "odbc": (f"Driver={{ODBC}};Server=tcp:db,1433;Uid=app;Pwd={p};Encrypt=yes;", p),
        "jdbc": (f"jdbc:sqlserver://db:1433;databaseName=x;user=sa;password={p};encrypt=true", p),
        "azure storage": (
            f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={(k := fill('{B86}==', rng))};EndpointSuffix=core.windows.net",
            k,
        ),
        "azure sas": (
            f"https://x.blob.core.windows.net/c?sv=2022-11-02&se=2026-01-01&sig={(k := fill('{A43}%3D', rng))}",
            k,
        ),
        "npmrc": (f"//registry.corp.dev/:_authToken={p}", p),
        "netrc": (f"machine api.corp.dev login bob password {p}", p),
        "docker config": (f'{{"auths": {{"ghcr.io": {{"auth": "{b64}"}}}}}}', b64),
        "kubeconfig": (f"    client-key-data: {(k := fill('LS0tLS1CRUdJTi{B400}==', rng))}", k),
        "cookie": (f"Cookie: theme=dark; sessionid={p}{p}; lang=en", p + p),
        "aws secret": (f"aws_secret_access_key = {(k := fill('{B40}', rng))}", k),
        "heroku uuid": (f"HEROKU_API_KEY={(k := fill(UUID, rng))}", k),
        "datadog": (f"DD_API_KEY={(k := fill('{H32}', rng))}", k),
        "twilio auth": (f"TWILIO_AUTH_TOKEN={(k := fill('{H32}', rng))}", k),
        "curl user": (f"curl -u admin:{p} https://x.dev", p),
        "mysql flag": (f"mysql -u root -p{p} shop", p),
        "gcp service account": (
            json.dumps(
                {
                    "type": "service_account",
                    "private_key": f"-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n",
                }
            ),
            middle,
        ),
        "pgpass": (f"db.corp.dev:5432:shop:app:{p}", p),
        "sql": (f"CREATE USER app WITH PASSWORD '{p}';", p),
        "url query": (f"GET https://api.corp.dev/v1/items?limit=5&api_key={p}{p}", p + p),
        "sshpass": (f"sshpass -p {p} ssh root@host uptime", p),
        "wireguard": (f"[Interface]\nPrivateKey = {(k := fill('{B43}=', rng))}", k),
    }
    return made[kind]


def assignments(seed: int = 2, count: int = 600) -> list[Case]:
    """Random values given to names of secrets in many notations."""
    rng = random.Random(seed)
    cases = []
    for i in range(count):
        notation = _ASSIGNMENTS[i % len(_ASSIGNMENTS)]
        value = _password(rng)
        cases.append(Case(f"assignment {notation!r}", notation.format(n=rng.choice(_NAMES), v=value), value))
    return cases


def prose(seed: int = 3, count: int = 300) -> list[Case]:
    """Secrets told in a sentence: passwords as people choose them, and random tokens."""
    rng = random.Random(seed)
    cases = []
    for i in range(count):
        if i % 3 == 2:
            template, value = (
                rng.choice(_PROSE_TOKENS),
                fill(rng.choice(("{A24}", "{H32}", "{W32}", "{A40}")), rng).strip("-_") + "x7",
            )
        else:
            template, value = rng.choice(_PROSE), rng.choice(_WEAK) if i % 2 else _password(rng)
        cases.append(Case(f"prose {template!r}", template.format(v=value), value))
    return cases


def personal(seed: int = 4, each: int = 12) -> list[Case]:
    """Identifiers of persons and machines."""
    rng = random.Random(seed)
    cases = []
    for _ in range(each):
        card = _with_luhn(rng.choice(("4", "51", "37", "6011")), rng)
        iban = _iban("DE", fill("{D18}", rng))
        for kind, text, secret in (
            ("email", f"ask {(m := fill('{L7}.{L5}@corp{L3}.com', rng))} about it", m),
            ("phone", f"call me at {(m := fill('+49 30 {D8}', rng))}", m),
            ("phone us", f"her cell is {(m := fill('(415) 55{D1}-2{D3}', rng))}", m),
            ("card", f"paid with {card}", card),
            ("iban", f"IBAN {iban}", iban),
            ("ssn", f"SSN {(m := fill('12{D1}-4{D1}-1{D3}', rng))}", m),
            ("ip", f"ssh to {(m := f'8{rng.randrange(2, 9)}.{rng.randrange(256)}.{rng.randrange(256)}.7')}", m),
            ("mac", f"the laptop has {(m := fill('3c:22:fb:{H2}:{H2}:{H2}', rng))}", m),
        ):
            cases.append(Case(kind, text, secret))
    return cases


def _with_luhn(prefix: str, rng: random.Random) -> str:
    size = 15 if prefix == "37" else 16
    body = prefix + "".join(rng.choice("0123456789") for _ in range(size - len(prefix) - 1))
    total = sum(sum(divmod(int(d) * (2 if i % 2 == 0 else 1), 10)) for i, d in enumerate(reversed(body)))
    return body + str(-total % 10)


def _iban(country: str, rest: str) -> str:
    number = int("".join(str(int(c, 36)) for c in rest + country + "00"))
    return f"{country}{98 - number % 97:02d}{rest}"


#: What agents write all day. ``{...}`` as in FORMATS; nothing here is a secret or leads to a person.
_CLEAN = tuple(
    line
    for line in """
Fixed in commit {H7}, reverted in {H12}.
HEAD is now at {H8} Rotate the token cache
git reset --hard {H40}
merge-base {H40} {H40}
commit {H40}
secret store refactored in {H10}, see PR #{D3}
password hashing moved to argon2id in {H7}
token refresh bug bisected to {H40}
git show {H9}:src/auth/token.py
rev = "{H40}"
uses: actions/checkout@{H40}
image: ghcr.io/acme/api@sha256:{H64}
session {H8}-{H4}-4{H3}-a{H3}-{H12} resumed
session_id: {H8}-{H4}-4{H3}-a{H3}-{H12}
request id {H8}-{H4}-4{H3}-9{H3}-{H12} failed with 500
"requestId": "{H8}-{H4}-4{H3}-b{H3}-{H12}"
id: 01H{K23}
trace 01J{K23} closed
flush_id=01K{K23}
sha256:{H64}
md5 {H32} matches
checksum = "{H64}"
integrity sha512-{B86}==
"integrity": "sha384-{B64}"
h1:{B43}=
blake3:{H64}
etag: "{H32}"
ETag W/"{H20}"
fact_{H8} replaces fact_{H8}
see fact_{H8} for the token limit
<!-- holdfast:block id={H16} -->
<!-- holdfast:fact fact_{H8} rev={H12} -->
traceparent: 00-{H32}-{H16}-01
closes #{D2} and acme/api#{D3}
JIRA-{D4} asks for a password policy
PR #{D3} adds the secret scanner
GH-{D3}: API key page is slow
see issue {D3} about tokens
src/auth/secrets.py
tests/fixtures/tokens/README.md
{D3} tests pass [memory/2026-11-2{D1}.md:7{D1}]
the password check (src/auth.py:1{D1}:{D1}) moved
/etc/ssl/private/server.key
~/.aws/credentials
C:\\Users\\dev\\secret\\tokens.json
config/credentials.yml.enc is encrypted
path: /run/secrets/db_password
secret file: ./secrets/api_token.txt
password_file: /run/secrets/postgres-passwd
GOOGLE_APPLICATION_CREDENTIALS=/var/run/gcp/key.json
--password-file ./pw.txt
key: certs/server.pem
open('secrets.toml')
token = os.environ["GITHUB_TOKEN"]
password = os.getenv("DB_PASSWORD")
api_key = config.get("api_key")
const token = process.env.API_TOKEN;
secret = settings.SECRET_KEY
password: ${DB_PASSWORD}
password: $DB_PASSWORD
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
token: "{{ .Values.token }}"
curl -H "Authorization: Bearer $TOKEN" https://api.acme.dev
curl -H "Authorization: Bearer ${TOKEN}" https://api.acme.dev
Authorization: Bearer <token>
headers["Authorization"] = f"Bearer {token}"
self.token = token
token = get_token()
password = getpass.getpass("Password: ")
secret = secrets.token_hex(32)
apiKey: apiKey,
password=password
password: str
password: string;
token: Optional[str] = None
api_key: SecretStr
secret: bytes
"password": {"type": "string", "minLength": 8}
password = None
token = ""
"token": null
secret: true
auth: required
auth: oauth2
token_type: bearer
"token_type": "Bearer",
grant_type=refresh_token
password: <your-password>
API_KEY=your-api-key-here
API_KEY=xxxxxxxxxxxxxxxx
token: changeme
password: ********
OPENAI_API_KEY=sk-...
export TOKEN=<token>
ANTHROPIC_API_KEY=sk-ant-xxxxxxxxxxxxxxxx
secret=REPLACE_ME
password = [REDACTED]
token: [REDACTED:github-token:a1b2]
the password is [REDACTED:password:12ab]
AWS_SECRET_ACCESS_KEY=[REDACTED:aws-secret-key:{H4}]
the password is stored in the keyring
The password must have at least 12 characters.
password reset mail is sent within 5 minutes
the password is hashed with bcrypt
the password is PBKDF2-hashed with 600000 rounds
user forgot the password and asked for a new one
secret rotation is planned for 2026-03-01
The secret is to keep functions small.
keep the secret in vault, never in the repo
the secret is mounted as a volume
token budget is {D4}
The token budget is 200k, of which {D2}k are used
used {D5} tokens in this session
max_tokens = {D4}
max_tokens: 4096
prompt_tokens={D4} completion_tokens={D3}
token count was 1,234 before compaction
the token is expired
the token is valid for 3600 seconds
token expiry: 15m
the token expires at 12:30
token limit: 8192
the refresh token is rotated on each use
tokens are counted with cl100k_base
token bucket of 100 per minute
access token lifetime is 1h
passes all tests: pass: 41, fail: 0
pass = 12, fail = 3
the key is to flush before compaction
primary key: user_id
foreign key (owner_id) references users
key: value
key = lambda item: item.confidence
sort_key="created_at"
cache_key = f"{user}:{day}"
public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43}
ssh-rsa AAAAB3NzaC1yc2E{B120} dev box
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
grep for "-----BEGIN RSA PRIVATE KEY-----" in the repo
SHA256:{B43}
key fingerprint is SHA256:{B43}
MD5:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}:{H2}
next_cursor: eyJvIjoxMDB9
next_page_token: CAUQ{A10}
cursor=b2Zmc2V0{A12}
continuation token: {A20}
python 3.11.{D1}, attrs 26.1.0
upgraded openssl to 3.0.13
version 1.2.3.{D1}
release v2.14.0-rc.1
pip install holdfast==0.1.0
node v20.11.{D1}
started at 2026-01-1{D1}T10:2{D1}:11Z
2026-01-0{D1} 14:3{D1}:07,123 INFO flush done
took 12:3{D1}:0{D1}
16{D17}
17{D11} ms since the epoch
{D4} files, {D6} lines, 1{D8} bytes
1{D2},{D3},{D3} rows
order 100{D7} shipped
http://127.0.0.1:8080/health
http://localhost:3000/login
listen on 0.0.0.0:80
ping ::1
bind 127.0.0.1:5432
host 10.0.{D1}.1{D1}
192.168.1.2{D1} is the router
203.0.113.{D1} is in the docs
postgres://localhost/app
postgresql://user:password@localhost/db
redis://localhost:6379/0
postgres://$USER:$PASSWORD@$HOST/db
https://github.com/acme/api/pull/{D3}
https://docs.acme.dev/auth/tokens#rotate
git@github.com:acme/api.git
ssh://git@git.acme.dev/team/api.git
npm i @types/node@20.11.0
actions/setup-python@v5
Decision: keep sqlite as the default store.
Next: write the retention tests.
The user prefers short answers and tabs over spaces.
Blocked on a review of the storage contract.
Goal: ship part four before Friday
The auth middleware reads the session cookie.
cookie consent banner is done
credentials: include
credentials: 'same-origin'
credentials are rotated weekly
login and logout work again
log in with your work account
sign in with GitHub or Google
API key authentication is documented in docs/auth.md
The API key is required for hosted models.
the api key is read from the environment
no api key: falls back to the offline plugin
secret scanning found 0 leaks
passphrase support for ssh keys added
the passphrase is optional
PIN entry moved to the settings page
pinned numpy to 2.1
spinning up 3 workers
bypass the cache with --no-cache
compass direction fixed
author: sam
authored 3 commits
authentication failed: 401
authorization: rbac
monkeypatch.setenv("API_KEY", "test")
keyboard shortcut: ctrl+k
keyframes: 24
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
tokenize("hello world") -> 2
stop_token="</s>"
pad_token_id: 0
def check_password(password: str, hashed: str) -> bool:
if password == expected:
if not token: raise Unauthorized
assert token is not None
return jsonify(token=token)
<input type="password" name="password" placeholder="Password">
<label for="password">Password</label>
"password": "Password must be at least 8 characters",
"forgot_password": "Forgot your password?",
Password: required, min 12 characters
Token: see 1Password
Secrets: none
password -> bcrypt hash
DELETE FROM tokens WHERE expires_at < now();
CREATE TABLE tokens (id uuid primary key, secret text not null);
SELECT password_hash FROM users
GRANT SELECT ON secrets TO reader
docker run -u 1000:1000 -p 8080:80 app
mysql -u root -p shop
ssh -p 2222 host
cp -p secret.txt backup/
mkdir -p ~/.config/tokens
kubectl get secret db-password -o yaml
kubectl create secret generic api --from-file=key.json
vault kv get secret/data/api
op read op://dev/api/token
gh auth login
gh auth token | pbcopy
aws sts get-session-token
gcloud auth print-access-token
pass show api/token
holdfast flush --session {H8}
holdfast validate --strict
exit code 137, out of memory
CPU 97.{D1} %, 12.{D1} GB
p95 {D3} ms, p99 {D3} ms
color #ff8{D1}aa
0x{H16}
at 0x7f{H10}: segfault
print("Your password: " + ask() + ", please")
label = 'new password: '.$form['label'].' (optional)'
puts "password=#{entered}"
this.passwordField = "#new-password"
link "/account/change-password": "/account/v2/security@home"
password: "&lt;your password&gt;"
password = os.environ.get("PW") || "not-set"
curl -u <user:password> https://host/path
notes: see com.auth.jsonwebtoken:parser-core-0.12.3
cache_key = "{H40}"
idempotency_key: {H32}
dedup_key={H64}
sort_key = created_at_desc_2024
cursor_key: {H40}
seed words: pick random numbers every time
TEST_DB_PASSWORD= make test-db
password pattern: [A-Za-z0-9]{{8,40}}
salt: Int8Array | Int16Array
private_key: Ed448PrivateKey
def load(self, certfile, keyfile=None, password=None):
Pass uint64 values without converting them
Pass strict_mode=False to the token reader
UPDATE users SET name=?,password=?,updated=? WHERE id = ?
The access token expires in 3600 seconds, see RFC6749Section4
The key for the cache is user_id:date.
Session 2026-11-22T04:33 ended with handoff {H6} of the auth work
use the token bucket with rate 100/s
the signing key id is kid-2024-07
cus_{A14} asked about the token limit
OAuth2Client and Base64UrlToken live in src/auth/tokens.ts
the secret to quick tests is fewer fixtures
## 1.5.0 / 2020-03-03 call for testers
base64 of the icon: data:image/png;base64,iVBORw0KGgo{B60}
regex: [A-Za-z0-9_]{{20,}}
AES-256-GCM with a random nonce
RS256 tokens only
the token is a JWT signed with RS256
TLS 1.3 and x25519
utf-8 everywhere
class TokenBudget(BaseModel):
from secrets import token_urlsafe
import holdfast_keys.secrets
test_token__expired__is_refused passed
PASSWORD_MIN_LENGTH = 12
TOKEN_TTL_S = 3600
SECRET_NAME=db-credentials
KEY_ID=alias/app
secretName: api-tls
secretKeyRef: {{name: api, key: token}}
imagePullSecrets: [regcred]
tokenUrl: https://login.acme.dev/oauth/token
auth_url=https://login.acme.dev/authorize
redirect_uri=https://acme.dev/callback&state=x
scope=read:user token
the keys are sorted before hashing
use your own key
The keyring holds the token.
Ask Sam for the password.
I do not know the password for staging.
what is the password for the demo account?
The demo needs no password.
never write the password into the notes
password protected zip
secret santa on Friday
token ring networks
""".strip().splitlines()
)


def clean(seed: int = 5, times: int = 2) -> list[Case]:
    """Lines without a secret; each template filled ``times`` times."""
    rng = random.Random(seed)
    return [
        Case(
            "clean",
            fill(line.replace("{{", "{").replace("}}", "}") if "{{name" in line or "{{20" in line else line, rng),
            "",
        )
        for line in _CLEAN
        for _ in range(times)
    ]
