"""Decides whether an identifier names a secret, and with what confidence."""

from __future__ import annotations

from functools import lru_cache

from holdfast.text.lazy import Lazy
from holdfast_redaction.layers.values import FAINT, PASSWORD, STRONG, WEAK

#: Each secret's name contains at least one entry, in lower case. The search starts at these.
HINTS = (
    "pass", "pwd", "pw", "secret", "token", "key", "cred", "auth", "pin", "kennwort", "contrasen", "salt", "cookie",
    "bearer", "seed", "mnemonic", "licen", "recovery", "otp", "login", "log in", "logged in", "sign in", "schluessel",
    "jeton", "clave", "mot de passe", "mots de passe", "senha", "hesl", "haslo", "sifre", "parol", "mdp",
    "wachtwoord", "adgangskode", "salasana", "kata sandi", "psk",
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
_PASSWORDS = tuple("""
    password passwd passphrase passcode motdepasse passwrd psswd
""".split())  # fmt: skip  # noqa: SIM905
_SECRETS = tuple("""
    secret apikey accesskey secretkey authkey privatekey signingkey encryptionkey masterkey authtoken accesstoken
    apitoken bearertoken refreshtoken sessiontoken idtoken clientsecret appsecret apisecret deploykey licensekey
    storagekey accountkey sharedkey
""".split())  # fmt: skip  # noqa: SIM905
#: ``pass`` ending a word is a password, except in these.
_NOT_PASS = frozenset("""
    bypass compass encompass overpass surpass trespass underpass subpass multipass onepass lastpass keepass
""".split())  # fmt: skip  # noqa: SIM905
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
    cursor delta design end eos first idempotency image input last lexer mask masked max min next nextpage num
    output pad page pagination parser per position prev previous prompt reasoning resume row scroll sep special
    start stop sync syntax thinking total unk watch
""".split())  # fmt: skip  # noqa: SIM905
#: Words before ``key`` that make it a secret: kinds of keys, and services that give them out. ``key`` alone may be any.
_SECRET_KEYS = frozenset("""
    abstractapi abuseipdb access account accuweather activecampaign adafruit admin adobe adyen aes aftership agora
    ahrefs airbrake aircall airtable airvisual akamai akismet alchemy algolia alibaba aliyun alphavantage amadeus
    amplitude anthropic anyscale api apiflash apify apilayer apollo app appcenter appdynamics appfollow application
    appsflyer aqicn arcgis artifactory asana assemblyai atlassian auth auth0 authentication autodesk avalara aws axiom
    azure backblaze baidu bamboohr bandwidth baremetrics basecamp beamer besttime betterstack bigcommerce bigml bing
    birdeye bitbucket bitfinex bitget bitly bitmex bitpanda bitrise blockchair blockcypher blockfrost blocknative
    bluesky bot braintree branchio braze brevo brex browserless browserstack browshot buddy bugsnag buildkite bunny
    bunnycdn buttercms bybit calendarific calendly capsulecrm carbone cartes cf chargebee chartmogul checkly chromatic
    cicero circleci clarifai clearbit clerk clicksend clicktime clickup client clockify cloudant cloudconvert
    cloudflare cloudinary cloudmersive cloudsmith cloudways coda codacy codeclimate codecov codemagic cohere coinapi
    coinbase coingecko coinlayer coinmarketcap commercetools confluent consumer contentful contentstack convertkit
    cookie coralogix couchbase coveralls crawlbase crisp crowdin crunchbase crypt crypto cryptocompare currencycloud
    currencylayer currencyscoop customerio dailyco databox databricks datadog datagov dbt dd debounce decryption deepai
    deepgram deepl deepseek delighted deno deploy detectify developer dialpad digicert digitalocean discogs discord
    disqus dnsimple docparser docraptor docusign doppler doubleclick drift drip dropbox druva dynatrace dyspatch
    easypost ebay elasticemail elevenlabs emailoctopus enc encrypt encryption enigma envoy eodhd etherscan etsy
    eventbrite everhour exa exchangerate faceplusplus fastforex fastly fauna fernet fibery figma filestack finicity
    finnhub firebase firecrawl fireworks fixer flatio flickr flightaware flightstats flutterwave foursquare freshbooks
    freshdesk freshsales fullstory fxmarket gateway gcp geckoboard gemini genderize geoapify geocodify geocodio
    geoipify getresponse ghost giphy gitbook gitea github gitlab gitter glassnode gocardless godaddy google gotify
    grafana graphcms graphhopper groq guardian gumroad guru hackerone happi harvest hasura headspin helius helpscout
    helpspot hereapi heroku hetzner hf hmac holidayapi honeybadger honeycomb hootsuite host hotjar hubspot huggingface
    humanloop hunter hygraph hyperbrowser ibmcloud imagekit imgbb imgur influx influxdb infobip infura insightly
    instatus integration integromat intercom intrinio invoiceninja ipapi ipdata ipgeolocation ipify ipinfo ipinfodb
    ipqualityscore ipregistry ipstack iterable jetbrains jfrog jina jira jotform jumpcloud jwt kagi keycdn kickbox
    kickstarter klaviyo kontent kraken kucoin lambdatest langfuse langsmith lastfm launchdarkly leadfeeder lemlist
    lemonsqueezy lessannoyingcrm licence license lineapi linear linkedin linkpreview linode live liveagent livechat
    livekit llamaindex locationiq logdna loggly loginradius logrocket logtail logzio lokalise looker lunchmoney
    mailboxlayer mailchimp mailerlite mailersend mailgun mailjet mailmodo mailtrap management mandrill mapbox mapquest
    maps marketstack master matomo mattermost maxmind mediastack meilisearch mem0 meraki mercury messagebird metaapi
    metabase midjourney miro mistral mixpanel mollie monkeylearn moonclerk moosend morningstar mux nasa neo4j neon
    netdata netlify newrelic newsapi newscatcher nexmo nftport ngrok nightfall nitro noticeable notion novu nozbe npm
    nuget nutshell nylas nytimes oanda octopus okta onedrive onelogin onepassword onesignal onfleet openai opencage
    openexchangerates openrouter opensea opentok openuv openweather openweathermap opsgenie optimizely ovh owlbot
    packagecloud paddle pagarme pagerduty pandadoc parseur partnerstack passbase paypal paystack pdflayer pdfshift
    pepipost percy perplexity pexels pinata pinecone pingdom pinterest pipedream pipedrive pivotaltracker pixabay plaid
    planetscale planyo plausible playht plivo portkey posthog postman postmark powerbi prefect printful printify
    private prod prodpad productboard production project promptlayer proxycrawl pubnub pulumi pushbullet pusher
    pushover pypi qase qdrant qualaroo qualtrics qualys quandl quickbase quickbooks quicknode rapid7 rapidapi rawg
    raygun razorpay read readme recaptcha recharge recurly reddit refiner replicate resend rest restpack retell retool
    revenuecat rewardful ringcentral riot roboflow rocketreach rollbar root rootly rudderstack runpod runway sage
    salesblink salesforce salesloft samsara sanity saucelabs scaleway scrapeapi scrapedo scraperapi scrapestack
    scrapfly scrapingant scrapingbee screenshotapi screenshotlayer sdk secret secure securitytrails semaphore semgrep
    semrush sendbird sendgrid sendinblue sentry serpapi serper serpstack server service session shared shippo shodan
    shopify shortcutapi sightengine sign signalwire signing signnow simplesat simvoly sinch sirv skyscanner slack
    smartling smartsheet smtp2go snipcart snowflake snyk solscan sonarcloud sonarqube sonatype sourcegraph sparkpost
    speechtext splunk spoonacular spotify square squarespace squareup ssh ssl stability statuscake statuspage stockdata
    storage storecove storyblok strapi strava streak stripe stripo stytch subscription sumologic supabase surveymonkey
    surveysparrow swell swiftype tableau tailscale tally tatum tavily teamwork telegram telnyx tenderly test testrail
    textmagic theguardian thingspeak ticketmaster tickettailor tidb tiktok timecamp timescale tinybird tinypng tls tmdb
    tmetric todoist toggl tolgee tomorrowio tomtom transifex travis trello trustpilot turso twelvedata twilio twitch
    twitter typeform typesense uclassify unsplash upcloud uploadcare uploadthing upstash uptimerobot upwave urlscan
    userflow userstack vatlayer vbout vercel veriff verifone verimail veriphone vero versioneye viewneo virustotal
    visualcrossing voiceflow vonage voyage voyageai vultr wakatime walkscore wandb weather weatherapi weatherbit
    weatherstack weaviate webflow webhook webhookrelay webscraper whatsapp wifi wistia wiza wlan woocommerce wordnik
    workable workato workos worldcoin wpa wrike write x xata xero yahoo yandex yelp youneedabudget yousign youtube
    zapier zapierwebhook zendesk zenhub zenrows zenscrape zenserp zeplin zerobounce zeroheight zilliz zipcodeapi
    zipcodebase zipwhip zoho zonka zoom zoominfo zulip
""".split())  # fmt: skip  # noqa: SIM905
#: Words after the noun that do not change its meaning.
_QUALIFIERS = frozenset("""
    value str string text plain plaintext raw base b encoded prod dev staging live new old default current primary
    secondary literal test local backup main confirm confirmation again stdin for
""".split())  # fmt: skip  # noqa: SIM905
LOGINS = ("log in", "logged in", "sign in", "log into", "logged into", "sign into")
#: Other names of secrets, which have further meanings.
_WEAK_NAMES = frozenset("""
    auth credential credentials creds cred bearer salt pepper cookie pin otp mnemonic authorization jwt sid login logins
    jeton clave
""".split())  # fmt: skip  # noqa: SIM905
#: Words before ``key`` that make it a key of a table, a map or a lock, or a public key.
_PLAIN_KEYS = frozenset("""
    answer artifact ascii backspace blob blog branch bucket build bundle cache change checksum commit composite
    config content control correlation cursor data dedup deduplication delete dict digest dimension document down
    encoded enter entity entry env escape etag event every extra fact feature field file filter fingerprint flag
    foreign free function golden group hash header home host hot hotkey id idempotency image index item job join
    json keyboard known label language last layer left locale lock lookup major map marker message meta metadata
    minor missing model natural next node object option order page parent part partition path pk press pressed
    previous primary prop property protobuf public query queue range react record redis ref region registry remote
    request resource result return right route row s3 search segment serial setting shard shift short sort sorted
    source space stable state storage store stream sub subject surrogate tab tag task that the this thread topic
    trace translation translations tree type unique up url user value verification verifying version which
""".split())  # fmt: skip  # noqa: SIM905
#: ... of them those that some services sell.
_SERVED = frozenset(("event", "query", "search", "source", "storage"))


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
    last, before = parts[-1], parts[:-1]
    if last in _ABOUT:
        return 0
    return _of_word(last, before, identifier)


def _of_word(last: str, before: list[str], identifier: str) -> int:
    glued = "".join(before[-2:]) + last if before else last
    if last.endswith(_PASSWORDS) or glued.endswith(("motdepasse",)):
        return (
            0
            if before and before[0] in ("min", "max", "no", "has", "is", "forgot", "reset", "hide", "show", "needs")
            else PASSWORD
        )
    if (
        (last.endswith("pass") and last not in _NOT_PASS)
        or last in ("pw", "pwd", "pswd", "pword", "psk")
        or (last.endswith("pwd") and len(last) > 4)
    ):
        return PASSWORD if before or last not in ("pass", "pw") else WEAK
    if last in ("phrase", "key") and before and before[-1] in ("pass", "seed", "recovery", "mnemonic"):
        return PASSWORD
    if last in ("secret", "secrets") or last.endswith(_SECRETS):
        return STRONG if before or last not in ("secret", "secrets") else WEAK
    if last.endswith("token") and last != "jsonwebtoken":  # that is the name of many a library
        if (before and before[-1] in _NOT_TOKEN) or any(b in ("max", "num", "count") for b in before):
            return 0
        return STRONG if before else WEAK
    if last in ("key", "keys"):
        return (
            STRONG
            if before and (before[-1] in _SECRET_KEYS or "secret" in before or "api" in before)
            else _key_of(identifier, before)
        )
    if last == "seed" and before and before[-1] in ("otp", "totp", "hotp", "fa", "mfa"):
        return STRONG
    if last in _WEAK_NAMES or identifier.lower() in LOGINS:
        return WEAK
    return 0


def _key_of(identifier: str, before: list[str]) -> int:
    """The confidence for a key with an unknown word before it. ``FOO_KEY`` is an environment variable."""
    if before and before[-1] in _SERVED and not _SECRET_KEYS.isdisjoint(before[:-1]):  # "azure search key"
        return FAINT
    if not before or before[-1] in _PLAIN_KEYS:
        return 0
    return WEAK if identifier.isupper() else FAINT
