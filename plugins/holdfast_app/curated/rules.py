"""The word rules for a line of curated memory, and their English words. Each returns a problem or "".

The rules let a doubtful line pass, because the next reader sees a diary line that slipped in, but a refused fact is
lost. So a word that standing facts also use ("added", "moved", "released", "founded") is left out, and other languages
are not covered. The caller limits a line's length, so that no rule takes long.
Source: R108, R154-R156, R158, R173, R176.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

MONTHS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
WEEKDAYS: Final = "(?:mon|tues?|wednes|thurs?|fri|satur|sun)day"
DAYS: Final = rf"(?:{WEEKDAYS}|mon|tue|wed|thu|fri|sat|sun)\.?"

#: Actions at one time. They mark a log entry when they start a line with a date.
ACTIONS: Final = (
    "applied|checked|chatted|cleaned|closed|committed|completed|continued|debugged|deployed|discussed|finished|fixed"
    "|found|implemented|installed|investigated|looked|merged|met|noticed|opened|paired|patched|posted|pushed|ran|re-?ran"
    "|rebased|rebooted|refactored|reported|restarted|reverted|reviewed|rolled back|saw|shipped|spent|spoke|talked"
    "|tested|tried|updated|upgraded|verified|worked on"
)
#: With "on 2024-03-01" these may begin a standing fact ("Created on ..."), but not with "yesterday".
LOOSE_ACTIONS: Final = (
    "added|asked|changed|created|decided|got|learned|made|moved|released|removed|replaced|sent|set up|started"
    "|switched|told|turned|worked|wrote"
)

#: Actions that make "I ..." or "We ..." a diary line even without a time.
SESSION_ACTIONS: Final = (
    r"ran|re-?ran|tried|debugged|investigated|rebooted|restarted|fixed|committed|rebased|noticed|reran|patched"
    r"|looked (?:at|into|through)|checked out|merged (?:pr|mr|pull request|branch|#|the (?:pr|branch|fix))"
    r"|pushed (?:the|a|to|my|our|commit)|started (?:on|working|debugging|with)|worked (?:on|through) (?:the|a|this)"
    r"|deployed (?:v?\d|the\b)|continued (?:with|working|on)|finished (?:the|with|debugging)"
    r"|spent (?:the|most|an|\d+|some|two|three)"
)

#: English words in -ed that are not a past tense.
NOT_PAST: Final = "need|feed|seed|speed|exceed|proceed|succeed|embed|bleed|breed|heed|weed|indeed|shed|agreed|based"

#: Folders on one machine. Infrastructure such as /etc, /srv, /opt, /usr and /var/lib or /var/log is not among them.
#: Each needs a path below it: "/tmp is a tmpfs" does not name a user's file.
UNIX_FOLDERS: Final = (
    r"home|Users|root|tmp|var/tmp|var/folders|dev/shm|run/user|workspaces?|private/(?:tmp|var)|mnt/[a-z]/Users"
    r"|Volumes|github/workspace|export/home"
)
WINDOWS_FOLDERS: Final = (
    r"users|documents and settings|temp|tmp|windows[\\/]+temp|dev|work|workspaces?|projects?|repos?|src|source|code|git"
)

#: Words for the present hour.
NOW: Final = (
    "right now|at the moment|for now|for the time being|in the meantime|recently|lately|not yet"
    "|temporary (?:workaround|fix|hack|measure|solution)"
)
#: Unfinished work.
UNFINISHED: Final = (
    r"waiting (?:for|on)|in progress|under (?:way|review)|(?:almost|nearly|half) (?:finished|done|ready)"
    r"|\d+ (?:open|remaining|pending) (?:bugs?|issues?|tickets?|prs?|tasks?)"
    r"|(?:of|more) .{1,40} (?:is|are) left"
    r"|(?:is|are|am) (?:leaning|being|about to|blocked (?:by|on))|still (?:needs?|fails?|open|broken|failing|waiting)"
)
BEING: Final = "is|are|am|was|were|been|['’]m|['’]re"
DOING: Final = (
    "debugging|fixing|investigating|failing|crashing|hanging|draining|rewriting|refactoring|discussing|waiting|reviewing"
    "|working on|looking (?:into|at)|trying|deploying|rolling out|upgrading|leaking|rebasing"
)


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class Text(NamedTuple):
    """A line in the two forms that rules use. ``plain`` has no bold markers. ``bare`` also has no inline code and no
    quoted words, because they are mentioned rather than stated."""

    plain: str
    bare: str


_CODE: Final = re.compile(r"`[^`]*`")
_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]{0,200}”|(?<!\w)'[^']{1,200}'(?!\w)|‘[^’]{1,200}’")


def prepare(line: str) -> Text:
    """The forms of ``line``."""
    plain = line.replace("**", "").replace("__", "").lstrip("*_~ ")
    return Text(plain, _QUOTED.sub("…", _CODE.sub("`…`", plain)))


# --- chronology -----------------------------------------------------------------------------------------------

_YEAR = r"(?:19|20)\d\d"
_DATE = (
    rf"(?:{_YEAR}[-/](?:0?[1-9]|1[0-2])[-/](?:0?[1-9]|[12]\d|3[01])(?!\d)"
    rf"(?:[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?)?"
    rf"|\d{{1,2}}[./]\d{{1,2}}[./]{_YEAR}\b"
    rf"|(?:{MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? {_YEAR}\b)?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTHS})\b\.?(?: {_YEAR}\b)?)"
)
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]\.?m\.?)?"
_ZONE = r"(?: (?:UTC|GMT|Z|CES?T|[ECMP][SD]T))?"
_NAMED = r"(?:a|an|one|two|three|four|five|six|\d+|a few|a couple of|several)"
_PAST = rf"(?:(?!(?:{NOT_PAST})\b)\w{{2,}}ed|{ACTIONS}|{LOOSE_ACTIONS}|was|were|had|did|went|broke|came|saw|took)"
_WE = r"(?:I|we|he|she|they|(?:the )?(?:user|team|operator|agent|assistant))"
_ADVERBS = r"(?:(?:have|has|had|also|then|just|already|finally|again|now)\s+|['’](?:ve|d)\s+)?"
_DID = rf"(?:{_WE}(?:\s+|(?=['’])){_ADVERBS}{_PAST}|(?:{ACTIONS}|{LOOSE_ACTIONS}))\b"
_SOMETHING_DID = rf"(?:{_DID}|(?:the|our|my|a|all)\s+(?:\S+\s+){{1,3}}?{_PAST}\b)"

_DATE_FIRST = _re(rf"[\[(]?(?:on\s+)?(?:{DAYS},?\s+)?(?:{_DATE}|(?:{MONTHS}) {_YEAR}(?=\s*[:–—-]))[\])]?")
_STAMP = _re(r"(?:\s*\([^)]{1,30}\)\s*:|\s*[:|]\s|\s*[:|]$|\s+[-–—]+\s|\s*[–—]|,\s|$)")
#: Marks a leading date as part of the fact, not an entry's time.
_STANDING_DATE = _re(
    r"\b(?:expir\w+|end[ -]of[ -](?:life|support|sale)|eol|sunset\w*|renew\w*|deadline|due|cut-?off|valid|freeze"
    r"|holidays?|birthday|anniversary|(?:release|launch|start|end|expiry|due|go-live) date|go-live)\b"
)
_NARRATED = _re(rf",?\s*{_SOMETHING_DID}")
_CLOCK_FIRST = _re(rf"(?:(?:session|log|update|entry|note)\s+)?(?:at\s+)?{_CLOCK}{_ZONE}(?!\d)")
_CLOCK_ENDS = _re(rf"(?:\s*[:|]\s|\s+[-–—]+\s|\s*[–—]|,\s|$)|(?=\s+{_DID})")
#: Marks a time of day as a schedule, not an entry's time.
_SCHEDULE = _re(
    r"\b(?:daily|nightly|weekly|monthly|hourly|every|each|always|never|cron|schedule\w*|window|backups?|maintenance"
    r"|meetings?|stand-?ups?|office hours|is|are|runs?|starts?|begins?|ends?|opens?|closes?|weekdays?)\b"
)
_WEEKDAY_FIRST = _re(
    rf"(?:on\s+)?(?:last\s+|this\s+)?{WEEKDAYS}\b(?!['’-])(?:\s+(?:morning|afternoon|evening|night))?\s*[:,–—-]?\s*{_SOMETHING_DID}"
)
_SESSION_FIRST = _re(
    rf"(?:I|we)(?:(?:\s+|(?=['’])){_ADVERBS}(?:{SESSION_ACTIONS})\b"
    r"|(?:['’](?:m|re)|\s+am|\s+are)\s+(?:currently\s+|now\s+|still\s+)?"
    r"(?:debugging|investigating|fixing|rebasing|looking into)\b)"
    r"|(?:re-?)?ran\s+(?:`|the\s|pytest|npm|make|cargo|go\s)|(?:committed|pushed)\s+`?(?=[a-f]*\d)[0-9a-f]{7,40}\b"
    r"|(?:currently|right now|at the moment),?\s+(?:debugging|investigating|fixing|rebasing|looking into|working on)\b"
)
_DID_THEN = _re(
    rf"(?:{_WE}\s+)?{_ADVERBS}(?:{ACTIONS})\b(?:\s+{_DATE}|.*?\b(?:on|at)\s+(?:{WEEKDAYS}\b|{_DATE}|{_CLOCK}))"
)
_ONE_DAY = "describes the work of one day"


def chronology(text: Text) -> str:
    """A diary entry: stamped with a date, day or time, or describing one person's work."""
    line = text.bare
    if first := _DATE_FIRST.match(line):
        rest = line[first.end() :]
        if ":" in first[0] or _STAMP.match(rest):
            if not _STANDING_DATE.search(rest):
                return "is stamped with a date like a diary entry"
        elif _NARRATED.match(rest):
            return _ONE_DAY
    if (
        (first := _CLOCK_FIRST.match(line))
        and (end := _CLOCK_ENDS.match(line, first.end()))
        and not _SCHEDULE.search(line, end.end())
    ):
        return "is stamped with a time like a diary entry"
    if _WEEKDAY_FIRST.match(line) or _DID_THEN.match(line):
        return _ONE_DAY
    return "describes the work of one session" if _SESSION_FIRST.match(line) else ""


#: A heading typical of a diary, such as a date, a day or a session.
DIARY_HEADING = _re(
    rf"(?:(?:daily (?:memory|notes?|log)|session(?: (?:notes?|log))?|log|notes?|diary)\s*[:–—-]?\s*)?"
    rf"(?:{WEEKDAYS},?\s*)?{_DATE}(?:\s*[:–—-].*)?|(?:today|yesterday|this session|{WEEKDAYS})"
    r"|session (?:\d+|log|notes?)(?:\s*[:–—-].*)?|(?:daily|work|activity) ?(?:log|notes?|memory)|diary"
)


# --- transcript -----------------------------------------------------------------------------------------------

_SPEAKER = _re(r"(?:>\s*)?(?:user|human|assistant)\s*:\s*(?=\S)")
_ROLE_TAG = _re(r"(?:\[(?:user|assistant|human|tool|system)\]|<(?:user|assistant|human)>|\{\s*\"(?:role|type)\"\s*:)")
_BRACKETED_CLOCK = _re(rf"[\[(]{_CLOCK}{_ZONE}[\])]")
#: First words of a fact about a person: "User: prefers tabs".
_ABOUT_SPEAKER = _re(
    "(?:always|answers|asks|dislikes|expects|has|hates|is|knows|likes|lives|needs|never|owns|prefers?|reads|replies"
    r"|responds|runs|speaks|trusts|uses|values|wants|works|writes)\b|\w+/\w+$|\d+ years?\b"
)
_NAME = re.compile(r"(?:[A-Z][\w.'’-]*)(?: [A-Z][\w.'’-]*){0,3}(?: \([^)]{1,60}\))?")


def transcript(text: Text) -> str:
    """A raw line of a conversation or a log."""
    line = text.plain
    if _BRACKETED_CLOCK.match(line) or _ROLE_TAG.match(line):
        return "is a raw line of a session"
    if speaker := _SPEAKER.match(line):
        rest = line[speaker.end() :]
        # "User: prefers tabs" and "Operator: Ada Lovelace" are facts about a person, not quotes.
        if not _NAME.fullmatch(rest) and not _ABOUT_SPEAKER.match(rest):
            return "is a raw line of a session"
    return ""


# --- speculation ----------------------------------------------------------------------------------------------

_HEDGE_FIRST = _re(
    r"(?:maybe|perhaps|probably|possibly|presumably|supposedly|apparently|hopefully|likely(?! to\b)"
    r"|(?:most|very) likely|it (?:looks|seems) like"
    r"|could be|might be|may be|seems?|appears to|looks like|i guess|i suspect|suspect(?:ed|ing)? (?:that|a|the|it)"
    r"|not sure|unsure|uncertain|unclear|my guess|guess:|guessing|hypothesis:|theory:|speculation:|assumption:|rumou?r"
    r"|unverified:|unconfirmed:|suspicion:|it (?:may|might|could|seems|appears))\b(?![-\w])"
    r"|(?:guess|hypothesis|theory|speculation"
    r"|assumption|unverified|unconfirmed|suspicion)\s*:"
)
_HEDGE_FIRST_FINE = _re(
    r"(?:maybe|perhaps) (?:is|means|and)\b"
    r"|possibly (?!an?\b|the\b|due\b|because|related|caused|in\b|from\b|by\b|wrong|broken|stale|it\b)"
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|probably|presumably|supposedly|apparently)\b(?!-)"
    r"|\bpossibly (?:an?|the|due|because|related|caused|from|wrong|broken|stale)\b"
    r"|\bmight\b(?! (?:not )?(?:have|return|take|contain|fail|differ|lag|exceed|raise|lack)\b)"
    r"|\b(?:could|may) be (?:due to|caused by|related to)\b"
    r"|\b(?:seems?|appears?) (?:to(?! (?:the|an?)\b)|like|that|as if|broken|fine|ok)\b"
    r"|\b(?:is|are) (?:most |very )?likely (?:due|caused|because|an?|the)\b"
    r"|\b(?:[Ii]|[Ww]e) (?:think(?! (?:in|best|about|aloud|out)\b)|believe(?! in\b)|guess\b|suspect\b|assume\b)"
    r"|(?:[Ii]['’]m|[Ii] am|[Ww]e['’]re|[Ww]e are) (?:not (?:\w+ )?sure|unsure)\b"
    r"|\b(?:not (?:\w+ )?sure|unsure|uncertain|unclear)(?: yet\b|\s*[.,;)]?\s*$|"
    r" (?:if|whether|why|how|what|which|where|when)\b)"
)
_UNSETTLED = _re(
    r"(?:(?:[,(:;–-]|\b(?:is|are|remains?|still needs?))\s*(?:still\s+)?"
    r"to be (?:confirmed|verified|determined|decided|checked)"
    r"|\b(?:needs? (?:more |further )?investigation|pending (?:verification|confirmation)"
    r"|(?:not (?:yet )?|un)(?:verified|confirmed|validated)(?: yet)?))\W*$"
    r"|(?:\b(?:is|are)|[:=,;–—-])\s+(?:still\s+)?(?:TBD|TBC|unconfirmed|unverified)\b|\((?:unconfirmed|unverified|tbd|tbc|\?+)\)"
)
_QUESTION_LAST = re.compile(r"[\w)…`\"'’]\?+\s*\)?$")
_ASKED = _re(r"\b(?:asks?|asking|answers?|answering|questions?|checks?)\b")
#: After these words a hedge belongs to a condition or rule, not to the fact.
_CONDITION = _re(r"\b(?:if|when|whenever|unless|whether|until|in case|wherever|while|once|what|how|anything)\b")
_RELATIVE = _re(r"\b(?:that|which|who|where|whatever|whichever|everything|something|code|steps?|commands?)\b")
_RULE = _re(r"\b(?:must|never|always|do not|don't|should|so|avoid|only|forbidden|need|needs|cannot)\b")
#: Marks a hedging word as mentioned rather than used.
_MENTION = _re(
    r"\b(?:words?|say|says|saying|write|writes|writing|avoid|phrases?|phrasing|types?|class|monad|called|named|like|no"
    r"|without|answers?|label|labels|marked|tag|tagged|status|state)\b(?:\W+\w+){0,2}\W*$"
)


def speculation(text: Text) -> str:
    """A guess or an open question. A hedge inside a rule ("if it seems to hang, ...") is not a guess."""
    line = text.bare
    guess = "is a guess, not a validated fact"
    first = _HEDGE_FIRST.match(line)
    # "Unclear errors must be ..." is a rule about errors.
    adjective = first is not None and first[0].lower() in ("unclear", "uncertain", "unsure", "not sure")
    if first and not _HEDGE_FIRST_FINE.match(line) and not (adjective and _RULE.search(line)):
        return guess
    for hedge in _HEDGE.finditer(line):
        if not _belongs_to_rule(line, hedge):
            return guess
    if "trunk" not in line.lower():  # trunk-based development (TBD)
        end = _UNSETTLED.search(line)
        if end and not _RULE.search(line, 0, end.start()):
            return "is not settled yet"
    if "?" in line and _QUESTION_LAST.search(line) and not _ASKED.search(line):
        return "is a question, not a fact"
    return ""


def _belongs_to_rule(line: str, hedge: re.Match[str]) -> bool:
    before = line[: hedge.start()]
    if _CONDITION.search(before) or _MENTION.search(before[-60:]):
        return True
    word = hedge[0].lower()
    if word.startswith(("might", "seem", "appear", "could", "may", "possibly", "not", "un")):
        return bool(_RELATIVE.search(before) or _RULE.search(line))
    return False


# --- machine paths --------------------------------------------------------------------------------------------

# After a letter, a host or a scheme it is a URL, an API route or a server's path. "file:" and "=" are exceptions.
_UNIX_PATH = re.compile(rf"(?:(?<![\w.~/:\\%<>{{}}$*-])|(?<=file:)|(?<=file://))/(?:{UNIX_FOLDERS})/[\w.@+~-]+")
_WINDOWS_PATH = _re(rf"(?<![\w])[a-z]:[\\/]+(?:{WINDOWS_FOLDERS})[\\/]+[^\s\\/<%{{$]|\\\\wsl(?:\$|\.localhost)\\\w")
_ROUTE = _re(r"(?:\b(?:get|post|put|patch|delete|head|routes?|endpoints?|urls?|pages?|resources?)\b\W*(?:`\W*)?)$")


def machine_path(text: str) -> str:
    """An absolute path in ``text`` that exists on one machine only, or "". Inline code counts, URLs do not."""
    for match in _UNIX_PATH.finditer(text):
        if not _ROUTE.search(text[max(0, match.start() - 24) : match.start()]):
            return match[0]
    windows = _WINDOWS_PATH.search(text)
    return windows[0] if windows else ""


# --- branches -------------------------------------------------------------------------------------------------

_REF = r"[`'\"]?(?P<ref>[A-Za-z0-9][\w./#-]*[\w#])[`'\"]?(?![\w<*{/])"
#: Prefixes of topic branches, before the slash.
_TOPIC = (
    "(?:feature|feat|fix|bugfix|hotfix|chore|refactor|wip|topic|spike|experiment|perf|docs|test|task|issue|dependabot"
    r"|renovate|codex|claude|agent|users?)/[\w.#-]"
)
_ON_BRANCH = _re(rf"\b(?:on|in|to|from|off|into|onto)\s+(?:the\s+|my\s+|our\s+|topic\s+|feature\s+)?branch\s+{_REF}")
_WORKING_ON = _re(rf"\bwork(?:ing|ed)?\s+(?:continues\s+|goes on\s+)?(?:on|in)\s+(?=[`'\"]?{_TOPIC}){_REF}")
_DID_BRANCH = _re(
    rf"\b(?:checked\s+out|switched\s+to|rebased|created|opened|pushed(?:\s+to)?|merged|deleted|cut|committed\s+to)\s+"
    rf"(?:(?:a|the|new|my|our|topic|feature)\s+)*(?:branch\s+|(?=[`'\"]?{_TOPIC})){_REF}"
)
#: "Branch: fix/login", "the branch is fix/login", "fix/a and fix/b are open".
_NAMED_BRANCH = _re(
    rf"(?:\bbranch(?:es)?(?: (?:is|was|in flight))?(?:\s*:|\s+(?=[`'\"]?{_TOPIC}))"
    rf"|^(?=[`'\"]?(?:feat(?:ure)?|fix|bugfix|hotfix|wip|chore)/))\s*{_REF}"
)
#: Long-lived branches.
_LONG_LIVED = _re(
    r"(?:main|master|trunk|develop(?:ment)?|dev|next|staging|stage|stable|prod(?:uction)?|gh-pages|release[-/].*|v?\d.*)"
)
_FILE = _re(r".*\.(?:md|py|js|ts|tsx|txt|rst|toml|ya?ml|json|sh|html|css|go|rs|sql|cfg|ini)")


def branch(text: Text) -> str:
    """A topic branch, which will be gone next month. Long-lived branches and naming rules are facts."""
    line = text.plain
    refs = (ref for rule in (_WORKING_ON, _DID_BRANCH, _ON_BRANCH, _NAMED_BRANCH) for ref in rule.finditer(line))
    named = not _HABIT.search(line) and any(map(_is_topic, refs))
    return "names a topic branch" if named else ""


def _is_topic(match: re.Match[str]) -> bool:
    ref = match["ref"]
    if _LONG_LIVED.fullmatch(ref) or _FILE.fullmatch(ref):
        return False
    # Not "on branch protection": a topic branch must look like a ref.
    return any(not c.isalpha() for c in ref) or "`" in match[0]


# --- open work ------------------------------------------------------------------------------------------------

#: It belongs in the daily note and the handoff (R159).
_OPEN_WORK = _re(
    r"(?:\[ \]\s|(?:to-?do|fixme|wip|in progress|next(?: steps?| action)?"
    r"|blocked|blockers?|follow[- ]?ups?|open questions?)\s*:)"
)


# --- states of the hour ---------------------------------------------------------------------------------------

_TIME = (
    r"(?P<time>(?<!since )(?<!as of )(?<!from )"  # a lasting change: "runs Postgres 16 since this morning"
    rf"(?:yesterday|today|tonight|tomorrow|(?<!the )(?:(?:this|last|next) (?:{WEEKDAYS}|morning|afternoon|evening|night"
    rf"|week|weekend|month|sprint|session)|(?:this|next) (?:quarter|year))|{_NAMED} \w+ ago"
    rf"|(?:{BEING}) [^,;]{{1,40}} until {WEEKDAYS}(?=\W*$)|soon(?=\W*$)|(?<!and )later(?=\W*$)))"
)
_PASSING = _re(
    rf"\b(?:{_TIME}|{NOW}|{UNFINISHED}|(?:{BEING}) {_ADVERBS}(?:still |now |currently )?(?:{DOING})|is running(?=\W*$)"
    rf"|(?:{BEING}) (?:still )?(?:down|stuck|red|(?:green|red|flaky|broken|slow|down) again)"
    r"(?=\W*$| (?:at|by|on|when|since)\b))\b"
    r"(?!['’-]| (?:is|are|means|counts)\b)"
)
_PASSING_FIRST = _re(
    r"(?:just|already) \w+(?:ed|t)\b|half of .{1,40} (?:is|are) done"
    r"|(?:restarted|reverted|merged|rebased|rebooted|re-?ran|debugged|investigated) (?:the|a|an|my|our|pr|`)"
    rf"|(?:pr|pull request|mr) #?\d+ (?:is|has|still|needs|waits)|(?:{DOING}) (?:the|a|an|my|our|for|on)\b|will \w+\b"
    r"|(?:i|we)(?:['’]ll| will| (?:am|are) going to) (?!not\b|never\b|always\b|only\b)"
    r"|(?:i|we)(?: am|['’]m| are|['’]re) (?!working (?:as|at|for|in|with)\b)\w+ing\b"
)
#: "The database was upgraded to Postgres 16 this morning" holds from then on.
_LASTING: Final = _re(
    r"\b(?:moved|switched|changed|migrated|replaced|renamed|upgraded|raised|lowered|increased|reduced|postponed)\b"
    r".* (?:to|with|by)\b"
)
#: At the start of a line the words may be its subject: "Today means the calendar day".
_GOES_ON = _re(rf"\W*,|\s+(?:i|we|he|she|they|the|our|my|{ACTIONS}|{LOOSE_ACTIONS}|\w+\s+{_PAST})\b")
_HABIT = _re(r"\b(?:every|each|always|never|must|only|do not|don['’]t|per|at most|at least|usually)\b")


def passing(text: Text) -> str:
    """A state of the hour, work under way or a time that depends on the reader's day."""
    line = text.bare
    if _HABIT.search(line):
        return ""
    problem = "is a state of the hour, not a standing fact"
    if _PASSING_FIRST.match(line):
        return problem
    for match in _PASSING.finditer(line):
        before = line[: match.start()]
        other = _LASTING.search(line) if match["time"] else _MENTION.search(before)
        ruled = _CONDITION.search(before) or _RELATIVE.search(before) or other
        if not ruled and (before or _GOES_ON.match(line, match.end())):
            return problem
    return ""


class Rule(NamedTuple):
    """``check`` returns the problem with an item, ``fix`` is the place where it belongs."""

    id: str
    check: Callable[[Text], str]
    fix: str


_DAILY = "Keep it in the daily note. Promote only facts that are still true next month."
_HANDOFF = "Put it into the handoff or the daily note."

RULES: Final = (
    Rule("transcript", transcript, _DAILY),
    Rule("branch", branch, "Name it in the handoff. Only standing branches and naming rules belong here."),
    Rule("chronology", chronology, _DAILY),
    Rule("open-work", lambda text: "is open work" if _OPEN_WORK.match(text.plain) else "", _HANDOFF),
    Rule("speculation", speculation, "Log it in the daily note, and promote it once it is verified."),
    Rule("passing", passing, _DAILY),
)
"""In order. Only the first match in a line is reported."""
