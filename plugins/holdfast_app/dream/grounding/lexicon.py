"""The vocabulary of grounding: stems, synonyms, and words without a claim.

The lists are short on purpose and hold plain vocabulary of working notes. A missing word makes a comparison slightly
stricter or laxer, but never wrong on its own, because each refusal needs several signs.
"""

from __future__ import annotations

import re
from typing import Final


def words(text: str) -> frozenset[str]:
    """The words in a list."""
    return frozenset(text.split())


#: Words that say nothing about the subject: articles, pronouns, prepositions, auxiliaries; English, then German.
STOP: Final = words(
    """
    a about above after again against all also although always am an and another any anything are around as at
    be became because become been before being below between both but by can could did do does doing done down
    during each either else etc even ever every everyone everything few for from further get gets got had has
    have having he hence her here hers him his how however i if in into is it its itself just kept keep keeps
    last least less let like many may me might more most much must my myself near next now of off often on once
    one only onto or other others our ours out over own per please rather really same shall she should since so
    some someone something still such than that the their theirs them then there therefore these they thing
    things this those though through thus till to together too toward towards under until unless up upon us
    usually very via was we well were what when whenever where whereas whether which while who whom whose why
    will with within would yet you your yours yourself user users e.g i.e eg ie vs already currently today
    yesterday tomorrow ago later soon new default der die das den dem des ein eine einen einem einer eines und
    oder aber ist sind war waren wird werden wurde wurden hat haben hatte auf mit für von vom zum zur bei im am
    aus nach über unter nur noch auch als wenn dass sich wir ich sie er es ihr zu bis um seit dabei damit dann
    diese dieser dieses jede jeder jedes
    """
)

#: Verbs and nouns so general that sharing or missing one says nothing about the subject.
_GENERIC: Final = words(
    """
    use uses used using run runs running ran set sets setting settings make makes made take takes taken took go
    goes went gone come comes came put give gave given work works worked working need needs needed require
    requires required want wants wanted prefer prefers preferred decide decides decided decision choose chose
    chosen move moved moves switch switched change changed changes update updated updates upgrade upgraded raise
    raised lower lowered increase increased reduce reduced bump bumped add added adds remove removed fix fixed
    keep stay stays remain remains live lives sit sits handle handles handled happen happens start starts
    started stop stops stopped begin began end ends ended finish finished complete completed enable enabled
    disable disabled allow allows allowed say says said tell told ask asked asks note noted report reported see
    seen find found show shows shown know known call called name named mean means old current latest previous
    first second final main important project team people person time way part number value version date day
    week month year amount limit instead back away exactly approximately roughly nearly almost around total need
    have hold holds held reach reaches reached get achieve achieves achieved contain contains include includes
    note fact rule policy place cost costs price approach
    """
)

#: Groups of words that notes use for one another.
_SYNONYMS: Final = """
    db database databases datenbank | prod production produktion | config configuration configure configured |
    repo repository repositories | auth authentication authenticate login signin | fix repair resolve solve
    correct patch | use employ utilise utilize rely run | prefer like favour favor want | require need demand
    must mandatory | delete remove drop erase | deploy release ship rollout publish deployment | bug defect
    fault issue problem | move migrate switch migration migrating | fail break crash failure broken broke |
    begin start launch | end finish complete stop | allow permit | forbid ban prohibit disallow | customer
    client | speed fast quick performance slow latency | store save persist keep kept stored storage | document
    documentation docs doc | environment env | increase raise bump grow | decrease reduce lower cut shrink |
    choose pick select decide chose chosen decision choice | lead own owner owns responsible maintain maintainer
    charge | approve accept agree approval | buy purchase | job task work | developer dev engineer | k8s
    kubernetes | postgres postgresql | javascript js | typescript ts | application app | directory folder |
    machine server host | backup copy | cost price | spend budget | error exception | meeting call meet sync |
    reply answer respond response | show display render | build compile | check test verify validate testing |
    message mail email | live reside located location lives | schedule plan planned scheduled | pr pull-request
    | package library dependency module | secret credential token | maximum max limit cap | minimum min least |
    expire expiry ttl lifetime valid | retry retries attempt | disable off deactivate | enable activate | write
    author wrote written | speak talk | holiday vacation | colour color | reject refuse decline deny |
    discuss talk | weekly week | daily day | monthly month | yearly annual annually year | nightly night |
    hourly hour | revert rollback undo | sync synchronise synchronize | replace supersede substitute | queue broker |
    worker process | region zone | log logging logs | ignore disregard overlook
"""

_IRREGULAR: Final = {
    "ran": "run", "chose": "choose", "chosen": "choose", "wrote": "write", "written": "write", "broke": "break",
    "broken": "break", "kept": "keep", "built": "build", "sent": "send", "paid": "pay", "held": "hold", "left": "leave",
    "found": "find", "made": "make", "took": "take", "taken": "take", "went": "go", "gave": "give", "given": "give",
    "met": "meet", "led": "lead", "bought": "buy", "sold": "sell", "grew": "grow", "grown": "grow", "froze": "freeze",
    "frozen": "freeze", "spoke": "speak", "drove": "drive", "lost": "lose", "spent": "spend", "people": "person",
    "children": "child", "indices": "index", "indexes": "index", "got": "get", "shown": "show", "seen": "see",
    "began": "begin", "taught": "teach", "thought": "think", "caught": "catch", "fought": "fight", "felt": "feel",
    "knew": "know", "known": "know", "threw": "throw", "thrown": "throw", "drew": "draw", "drawn": "draw",
    "flew": "fly", "flown": "fly", "wore": "wear", "worn": "wear", "tore": "tear", "torn": "tear", "driven": "drive",
    "stole": "steal", "stolen": "steal", "fell": "fall", "fallen": "fall", "rose": "rise", "risen": "rise",
    "sang": "sing", "sung": "sing", "swam": "swim", "swum": "swim", "won": "win", "sewn": "sew", "lent": "lend",
    "fed": "feed", "hung": "hang", "told": "tell", "stood": "stand", "meant": "mean", "spoken": "speak",
    "comment": "comment", "comments": "comment", "moment": "moment", "cancelled": "cancel",
    "cancelling": "cancel", "labelled": "label", "labelling": "label", "travelled": "travel", "modelled": "model",
}  # fmt: skip
_PLURAL_KEEP: Final = ("ss", "us", "is", "os", "as")
_VOWEL: Final = re.compile("[aeiouyäöü]")

#: Words that reverse a statement. The rest of the line says which part.
NEGATORS: Final = words(
    """
    not no never none neither nor cannot without nobody nothing nowhere n't nicht kein keine keinen niemals nie
    ohne pas jamais aucun aucune não nunca jamás non niet geen nooit не нет никогда
    """
)
#: Verbs in a past that does not end in -ed.
PAST: Final = words(
    """
    beat bought broke brought built burnt caught chose cut dealt did drew drove fed felt fled flew forgot fought
    found gave got grew held hid hit hung kept knew laid led left lent lost made met mended paid put ran read
    sang sat saw sent set sewed shook shot sold spoke spent stole swam stuck struck swept swore taught thought
    threw told took tore upset withdrew woke won wore wrote
    """
)
#: Words that contain a negation. With one in only one of two lines, a missing "not" proves nothing.
TURNING: Final = words(
    """
    avoid forbid forbidden ban banned refuse refused reject rejected disable disabled prohibit prohibited stop
    stopped fail failed fails lack lacks missing unless except only instead rather deny denied drop dropped
    remove removed off skip skipped disallow disallowed against unable impossible exclude excluded prevent
    prevents hardly rarely seldom longer until over than avoids forbids refuses rejects disables stops skips
    removes drops absent dislike dislikes hate hates block blocks blocked false unsupported undecided unknown
    unchanged unused optional
    """
)
#: Ordinary words that open sentences in notes. Words with a verb's, adverb's or noun's ending are ordinary too.
_ORDINARY: Final = words(
    """
    access account action active admin agenda agent alert alpha analysis answer api app archive area array
    article asset audit author avoid backend background backlog bad base batch beta better big bigger blocker
    board body book bot box branch break breakfast browser bug build bulk button buy cache calendar call can
    candidate care case chart chat check child choice class clean clear client clock close cloud cluster code
    coffee column command comment commit common company config contact contract control core cost country create
    critical current customer daily dark dashboard data database date deadline debug decide deep default delete
    delivery demo deploy design desk detail dev device diet direct disk do doc docker document domain draft
    drive drop due duty early editor email emergency empty engine engineer entry env error event exact example
    expect export extra fail family fast favourite favorite feature feedback field file final finance fix flag
    flight flow follow food form format fresh friend front frontend full function gateway general git give goal
    good green group guide handle hard head health help high hiring history home hook host hot hotel hour house
    idea image import inbox incident index info infra inside install integration interface internal interview
    invoice issue item job journal json keep key kind known label language large latest launch layout lead learn
    leave legacy legal letter level library licence license light limit line link list load local lock log login
    logo long lookup low lunch machine mail main make manager manual map market master meal meeting member
    memory merge message metric middle migration minimum maximum mobile mock mode model module money monitor
    morning move music name network never new news night no node normal not note nothing number object offer
    office offline old on onboarding one open operator order out output owner package page paper parent parser
    part partner password path pay peak people perf phone photo pipeline plan platform please point policy pool
    port post power prefer price primary print private process prod product production profile program project
    prompt proof proposal proxy public pull purchase push python quality query queue quick quiet quote rate raw
    read ready real reason record red refactor release remember remote remove repo report request research reset
    response rest result retention retry return review rewrite risk road role roll rollback room root route
    router row rule run runbook runner runtime safe salary sales sample sandbox save scale schedule schema
    school scope screen script search secret section secure security self send server service session set setup
    share ship shift shop short show side sign simple single site size skip slack sleep slow small snapshot
    socket soft software source space spec speed sprint sql squad stable stack staff stage staging standard
    start startup state status stay step stop storage store story strategy stream strict string strong student
    style subject summary support surface survey swap switch sync syntax system tab table tag tail take talk
    target task tax team tech template tenant term test text theme third thread ticket time timeout title to
    token tool topic trace track trade traffic train transport travel tree trial trigger trip try turn twice
    type under unit update upgrade upload use user valid value vendor version video view visit voice wait walk
    warm watch web webhook week weekly weekend wiki window wish work worker workflow workshop world write wrong
    yearly yes zone half older newer younger either neither instead besides later earlier whenever wherever
    nobody everybody anybody anyone fully mostly mainly vegetarian vegan born allergic married
    """
)
_ORDINARY_ENDING: Final = re.compile(
    r"(?:ing|ed|ly|tion|sion|ment|ness|ity|able|ible|ful|ous|ive|ers|ors|ts|ls|ns|ks|ps|ds|es)$"
)
#: Acronyms so common that using one for a spelled-out term claims nothing.
USUAL_ACRONYMS: Final = words(
    """
    api app cd ci cms crm ci/cd cli cpu db dev dns doc docs faq gui id ids io ip it ok os pr prs prod qa readme
    repo sdk sla ssd tbd todo tv ui url urls ux vm vs am pm ui/ux hr ceo cto eu uk us usa
    """
)
#: Names of people and tools, the only words taken as names when they begin a sentence without other signs.
GIVEN_NAMES: Final = words(
    """
    aaron adam aisha akira alan alex alexander alice alina amanda amelia amir amy ana andrea andrew andy angela
    anika anita anja anna anne anton antonio arjun arthur ashley barbara beatrice ben benjamin bernd beth bob
    boris brian bruno carla carlos carmen caroline catherine charles charlotte chen chloe chris christian
    christine claire clara claudia dan daniel daniela david deborah dennis diana diego dmitri dominik donald
    dora edward elena eli elias elisa elizabeth ella emil emily emma eric erik eva felix fatima fiona florian
    frank franz fred gabriel george gina giulia greta hana hannah hans harry heidi helen helena henry hiroshi
    hugo ian igor ines ingrid irene iris isabel ivan jack jacob jakob james jan jana jane jason javier jennifer
    jens jessica jim joan joe johan john jonas jonathan jorge jose joseph joshua juan julia julian juri kai
    karen karin karl kate katharina katie keiko kenji kevin klaus kofi kumar lars laura lea lena leo leon liam
    lily lin linda lisa liu lorenzo louis lucas lucia lucy luis luisa lukas luke mara marc marco marcus maria
    marie mario marion marta martin mary matt matthew max maya mehmet mei michael michelle miguel mike mia mira
    mohammed monika nadia naomi natalia nicole nikolai nina noah nora olga oliver olivia omar oscar otto pablo
    patricia patrick paul paula pavel pedro peter petra philip pierre priya rachel rafael raj ralf raul rebecca
    ricardo richard robert rosa ruth ryan sabine sam samuel sandra sara sarah sebastian sergei simon sofia
    sophia sophie stefan stephanie steve steven susan sven svetlana tanja tara theo thomas tim tobias tom tomas
    tony ulrike ursula uwe vera victor viktor vincent walter wei wendy werner william yara yuki yusuf zoe tanaka
    suzuki sato yamada
    """
)
TOOL_NAMES: Final = words(
    """
    airflow angular ansible apache argocd astro athena aurora aws azure bazel bigquery bitbucket bun caddy
    cassandra celery chroma circleci clickhouse cloudflare cockroachdb confluence couchdb cypress datadog debian
    deno digitalocean django docker dynamodb elasticsearch elixir envoy erlang fastapi fastly fedora figma
    firebase firestore flask flink flutter gatsby github gitlab golang grafana gradle graphql hadoop haproxy
    hasura helm heroku hetzner honeycomb istio java jenkins jest jira kafka keycloak kibana kotlin kubernetes
    laravel linear linux loki mailchimp mariadb memcached mercurial minio mongodb mysql neo4j netlify nginx
    nomad notion numpy okta opensearch oracle pagerduty pandas perl php pinecone podman postgres postgresql
    prometheus pulsar pulumi pytorch rabbitmq rails react redis redshift ruby rust salesforce scala scylladb
    segment selenium sentry shopify slack snowflake solr sonarqube spark splunk sqlite stripe supabase svelte
    swift tableau tensorflow terraform thanos traefik travis twilio ubuntu vagrant vault vercel vite vue webpack
    windows zookeeper zoom
    """
)
#: Verbs that people are the subject of.
PERSON_VERBS: Final = words(
    """
    is was prefers prefer wants asked asks said says thinks owns leads led likes decided approved approves
    reviewed reviews reported reports wrote writes maintains signed agreed confirmed requested suggested
    proposed rejected hates lives works manages promised told joined left will has handles runs needs insists
    chairs merged fixed shipped and
    """
)
_GERMAN: Final = words(
    """
    der die das den dem des ein eine einen einem einer und ist sind war wird werden wurde hat haben auf mit für
    von vom zum zur bei im nicht aus nach über nur noch auch als wenn dass sich wir ich sie jeden jede jeder ab
    seit bis um kein keine am
    """
)


def stem(word: str) -> str:
    """A lower-case word's stem. Words with the same stem count as equal. Only endings are removed."""
    word = word.removesuffix("'s").rstrip("'")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(_PLURAL_KEEP):
        word = word[:-2] if word.endswith(("sses", "ches", "shes", "xes")) else word[:-1]
    for ending in ("ingly", "edly", "ing", "ed", "ation", "ition", "tion", "ment", "ly"):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) > 2 and _VOWEL.search(root):
            word = root + "t" if ending == "tion" else root
            if ending in ("ing", "ed") and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word


def _canon() -> dict[str, str]:
    table: dict[str, str] = {}
    for group in _SYNONYMS.split("|"):
        stems = [stem(w) for w in group.split()]
        for word in stems:
            table.setdefault(word, stems[0])
    return table


_CANON: Final = _canon()
GENERIC: Final = frozenset(_CANON.get(stem(w), stem(w)) for w in _GENERIC)


def canonical(word: str) -> str:
    """A lower-case word's stem, or its synonym group's representative."""
    root = stem(word)
    return _CANON.get(root, root)


def is_ordinary(word: str, *, inside: bool = False) -> bool:
    """Whether a capitalised word, given in lower case, is probably not a name, at the start of a sentence or
    ``inside``."""
    if word in GIVEN_NAMES or word in TOOL_NAMES:
        return False
    known = word in STOP or word in _ORDINARY or stem(word) in _ORDINARY
    return known or (not inside and bool(_ORDINARY_ENDING.search(word)))


def is_german(line: list[str]) -> bool:
    """Whether a line is German, where every noun has a capital: two function words out of a short list."""
    return sum(word.lower() in _GERMAN for word in line) >= 2


def has_german(line: list[str]) -> bool:
    """Whether a line has a German function word."""
    return any(word.lower() in _GERMAN for word in line)
