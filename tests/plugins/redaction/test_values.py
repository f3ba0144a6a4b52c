"""What is asked of every value: the short ways to an answer give the answer of the long ones."""

import re

import pytest

from holdfast_redaction import redact


@pytest.mark.req("R240")
def test_redact__a_sentence_in_capitals__is_read_like_any_other():
    secret = "N0TSOS3" + "CURE9"
    assert secret not in redact(f"SET THE ADMIN PASSWORD TO {secret} YESTERDAY")
    assert secret not in redact(f"USE {secret} AS THE PASSWORD")


WALLET = "witch collapse practice feed shame open despair creek road again ice least"


@pytest.mark.req("R240")
@pytest.mark.parametrize(
    "text",
    [
        "my seed phrase: {}",
        "The recovery phrase (never share it) is {}.",
        "wallet seed words: {}",
        "mnemonic: {}\nnetwork: main",
        '{{"seed_phrase": "{}", "network": "main"}}',
        "WALLET_SEED={}",
        "export MNEMONIC='{}'",
    ],
)
def test_redact__the_words_of_a_wallet__are_masked_whole(text):
    masked = redact(text.format(WALLET))
    assert not set(WALLET.split()) & set(masked.split())
    assert masked.startswith(text[: text.index("{}")].replace("{{", "{"))
    assert redact(masked) == masked


@pytest.mark.parametrize("secret", ["123e4567-e89b-42d3-a456-426614174abc", "12ab34cd56ef78901234aabb"])
def test_redact__an_id_directly_behind_the_word_secret__is_masked(secret):
    assert secret not in redact(f"acme SECRET {secret}")
    assert secret not in redact(f"acme token - '{secret}'")
    assert secret in redact(f"secret of build {secret}")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("暗証番号は 7306 です", "7306"),
        ("الرمز السري: 7306", "7306"),
        ("the pin is 7306", "7306"),
        ("Basic auth for staging: tess:kirsche77", "kirsche77"),
        ('easy_setopt(c, CURLOPT_PASSWORD, "KtWbRQmVzGhLpDqYnXs");', "KtWbRQmVzGhLpDqYnXs"),
        ("Zugangsdaten für den Server: root, kirsche77", "kirsche77"),
        ("Use the login admin / correct-horse-battery", "correct-horse-battery"),
        ("the db password is hunter2Kirschbaum!, put it in .env", "!"),
    ],
)
def test_redact__pin_or_password_as_people_choose_and_tell_them__is_masked_whole(text, secret):
    assert secret not in redact(text)


def test_redact__an_element_of_several_words__has_its_secret_masked():
    assert redact("<token>} }</token>, <token>See it</token>") == "<token>} }</token>, <token>See it</token>"
    assert "w8r3k0p5zt6v1m9q2x7c4n8b" not in redact("<secret>{acme w8r3k0p5zt6v1m9q2x7c4n8b}</secret>")


@pytest.mark.req("R240")
@pytest.mark.parametrize(
    "text",
    [
        "I tried the old one first; the password, {}, was rejected.",
        "the shared secret between radius and the switch is {}",
        "{} goes into the GITHUB_TOKEN variable",
        "Token:\n```\n{}\n```\n",
        "mot de passe « {} »",
        "Der API-Schlüssel ist {}.",
        "auth = ('admin', '{}')",
        'public string Password {{ get; set; }} = "{}";',
        'variable "db_password" {{ default = "{}" }}',
        '<property name="connection.password">{}</property>',
        "db:\n  password: >-\n    {}\n  host: x",
        "read -r DB_PASSWORD <<'EOF'\n{}\nEOF",
        "docker login --password-stdin <<EOF\n{}\nEOF",
        "PASSWORD=$(cat <<EOF\n{}\nEOF\n)",
        "user,password,role\nbob,{},admin\n",
        "| user | API key |\n|---|---|\n| bob | {} |\n",
        "next=%2Fapi%3Fpassword%3D{}%26user%3Dbob",
        "What is the password?\nuser: {}\n",
        "DB\\u005fPASSWORD\\u003d{}",
        "DB\\_PASSWORD={}",
        "密码：{}",
        "生产环境的密码是{}。",
        "パスワードは「{}」です",
        "비밀번호는 {} 입니다",
        "Новый пароль для стенда: {}",
        "A senha do banco é {}",
        "heslo k databázi je {}",
        "hasło do bazy to {}",
        "كلمة المرور هي {}",
        "la contrasen\u0303a del servidor es {}",
        "ŞİFRE: {}",
        "Mot de passe admin : {}",
        "Das Kennwort für den Server lautet {}",
        "parola pentru server este {}",
        "sunucu şifresi: {}",
        "het wachtwoord is {}",
        "lösenordet är {}",
        "पासवर्ड: {}",
        "PASSWORD_FOR_PROD is set to {}",
        "pass%77ord%3D{}",
        "WIFI:S:home;T:WPA;P:{};;",
        "AKIA" + "Q3EGRM7WYT2HNB5X {}q7Zp2vXk9LmT4rWb8N",
        "MHcCAQEEI" + "Kx7" * 18 + "\n{}\nnext",
        " id | name |  api_token\n----+------+-------------\n  7 | jo   | {}\n(1 row)",
        "+----+---------------+\n| id | client_secret |\n+----+---------------+\n|  3 | {} |\n",
        "deepgram key {}",
        "LUNCHMONEY_KEY={}",
        "azure_search_key = {}",
        "psk={}",
        "viewer_token = {}." + "aB3" * 60,
        'sync_service_key: "v1.0-{}eda77de60e8e76077e16272765678"',
        "serve -token {}",
        'if pswd != "{}":',
        '<Pass encoding="base64">{}</Pass>',
        "API_KEY_SENDGRID={}",
        '{{"crv": "P-256", "k": "{}x1"}}',
        "wallet_live_{}",
    ],
)
def test_redact__a_secret_told_in_many_ways__is_masked(text):
    secret = "q7Zp" + "2vXk9LmT4rWb8NcD5f"
    assert secret not in redact(text.format(secret))


TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.mark.req("R240")
@pytest.mark.parametrize(
    "sign", ["\\u005f", "\\_", "&#95;", "%5F", "_\u200b", "＿", "_\x1b[m\x1b[K", "_\ufffd[m\ufffd[K"]
)
def test_redact__a_disguised_sign__is_read_as_what_it_stands_for(sign):
    masked = redact(f"before {TOKEN.replace('_', sign)} after")
    assert masked.startswith("before [REDACTED:github-token:")
    assert masked.endswith("] after")


@pytest.mark.parametrize("wrap", ["\n", "\\\n", '"\n    "', "\n> "])
def test_redact__a_token_wrapped_over_two_lines__is_masked_whole(wrap):
    for at in range(8, 34, 5):
        masked = redact(f'> TOKEN="{TOKEN[:at]}{wrap}{TOKEN[at:]}"\nnext: x')
        assert TOKEN[at:] not in masked
        assert masked.endswith('"\nnext: x')
        assert at > 18 or TOKEN[at:] not in redact(f"the bot sends {TOKEN[:at]}{wrap}{TOKEN[at:]} to the forge")


@pytest.mark.parametrize("ends", ["\n", "\\n"])
def test_redact__a_private_key_without_its_first_line__is_masked(ends):
    lines = ["Kx7" * 21 + "=" * (n == 4) for n in range(5)]
    masked = redact(f"tail of the file:\n{ends.join([*lines, '-----END RSA PRIVATE KEY-----'])}")
    assert re.fullmatch(r"tail of the file:\n\[REDACTED:private-key:\w+\]", masked)


@pytest.mark.req("R240", "R243")
@pytest.mark.parametrize(
    "text",
    [
        "the token mint is EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
        "token address: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "the token budget has the document id 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms",
        "ipwd: build7a\n密码：必填\nPasswort: erforderlich",
        "name,password_policy,role\nbob,Strict7,admin\n",
        "The password, token, and key\nare rotated, every day, at 3\n",
        "what is the token limit?\n8192\na list of tokens\nabc1234567\ndef7654321\n",
        '--password "$(cat pw.txt)"',
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-qhsRr1",
        "gpg: using EDDSA key E8E0FC7E1D881334DE8DC72F1ECA3052A34332B3",
        'text << "password=#{given}, "',
        "- **Session Key**: agent:main:main\nstory_key: `5-13-active-badge-date-range`",
        "NavigateToContinueLogin, NavigateToHomeLobby,\nMessage-ID: <1f8a@mail.acme.io>",
        "git clone https://oauth2:${CI_TOKEN}@git.acme.io/x.git",
        "3f2a9c1 is the password fix, 9fceb02d0ae598e95dc970b74767f19372d61af8 is the token fix",
        "moved the access token to 3f2a9c1d\nrun 550e8400-e29b-41d4-a716-446655440000 is the login test",
        "the secret in commit 9fceb02 was removed\nlogged in with SSO and 2FA",
        "HTTP basic auth works with nginx:1.25 and bcrypt5, and the password is wrong!",
        "the password test is test_login_7",
        "-token budget is 4000\n-Password reset works",
        "API_KEY=00000000-0000-0000-0000-000000000000",
        '<add key="Orders_B2B" value="x" />',
        '"pubkey": "wAJbNbGKPFXCWuBvf9Ss623VQ5DA", "token": "app.auth:token_group",',
        "token fix: 9fceb02\nauth: see #123, key: acme/api#7",
        "postgresql://app@db.corp.dev/x and ssh://git@git.corp.dev:2222/x.git",
        "connect to `sftp://ann.smith@files.corp.dev`",
        "Co-authored-by: bot <12345+bot@users.noreply.github.com>\nno-reply@acme.dev",
        "no token for http://127.0.0.1:3000, which listens on 127.0.0.1, 0.0.0.0 and ::1",
        "router at 192.168.1.1, 10.0.0.7, 172.16.4.4",
        "RFC 5737: 192.0.2.1, 198.51.100.7, 203.0.113.9; RFC 3849: 2001:db8::1",
        "resolver 8.8.8.8\nChrome/120.0.6099.109 and driver version 4.2.6.1",
        "02:42:ac:11:00:02 is docker's\nstd::vector and a::b",
    ],
)
def test_redact__what_is_no_secret__stays(text):
    assert redact(text) == text
