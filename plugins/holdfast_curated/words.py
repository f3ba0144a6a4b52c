"""The English word lists behind the rules. Other languages are not covered: their diaries pass unseen.

A word is here only when it tells something about the *line*; words that standing facts use as well ("added",
"moved", "released", "founded") are left out on purpose, since a false refusal costs the user a fact.
"""

from __future__ import annotations

from typing import Final

MONTHS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
WEEKDAYS: Final = "(?:mon|tues?|wednes|thurs?|fri|satur|sun)day"
DAYS: Final = rf"(?:{WEEKDAYS}|mon|tue|wed|thu|fri|sat|sun)\.?"

#: What somebody did at one time: in front of a line and with a date, a log entry.
ACTIONS: Final = (
    "applied|checked|chatted|cleaned|closed|committed|completed|continued|debugged|deployed|discussed|finished|fixed"
    "|found|implemented|installed|investigated|looked|merged|met|noticed|opened|paired|patched|posted|pushed|ran|re-?ran"
    "|rebased|rebooted|refactored|reported|restarted|reverted|reviewed|rolled back|saw|shipped|spent|spoke|talked"
    "|tested|tried|updated|upgraded|verified|worked on"
)
#: With "on 2024-03-01" these may begin a standing fact ("Created on ..."); with "yesterday" they do not.
LOOSE_ACTIONS: Final = (
    "added|asked|changed|created|decided|got|learned|made|moved|released|removed|replaced|sent|set up|started"
    "|switched|told|turned|worked|wrote"
)

#: Actions that make "I ..." or "We ..." a diary even without a time: nobody needs them next month.
SESSION_ACTIONS: Final = (
    r"ran|re-?ran|tried|debugged|investigated|rebooted|restarted|fixed|committed|rebased|noticed|reran|patched"
    r"|looked (?:at|into|through)|checked out|merged (?:pr|mr|pull request|branch|#|the (?:pr|branch|fix))"
    r"|pushed (?:the|a|to|my|our|commit)|started (?:on|working|debugging|with)|worked (?:on|through) (?:the|a|this)"
    r"|deployed (?:v?\d|the\b)|continued (?:with|working|on)|finished (?:the|with|debugging)"
    r"|spent (?:the|most|an|\d+|some|two|three)"
)

#: English words in -ed that are not a past tense.
NOT_PAST: Final = "need|feed|seed|speed|exceed|proceed|succeed|embed|bleed|breed|heed|weed|indeed|shed|agreed|based"

#: Says that a date in front of a line is the fact itself and not the time of an entry.
STANDING_DATE: Final = (
    r"expir\w+|end[ -]of[ -](?:life|support|sale)|eol|sunset\w*|renew\w*|deadline|due|cut-?off|valid|freeze|holidays?"
    r"|birthday|anniversary|(?:release|launch|start|end|expiry|due|go-live) date|go-live"
)

#: Says that a time of day is a schedule and not the time of an entry.
SCHEDULE: Final = (
    r"daily|nightly|weekly|monthly|hourly|every|each|always|never|cron|schedule\w*|window|backups?|maintenance"
    r"|meetings?|stand-?ups?|office hours|is|are|runs?|starts?|begins?|ends?|opens?|closes?|weekdays?"
)

#: What has to be in a line (in lower case) for the hedges, and for what is not settled, to be looked for at all.
HEDGE_HINTS: Final = (
    "maybe", "perhaps", "ably", "supposedly", "apparently", "possibly", "might", " be ", "seem", "appear", "likely",
    " think", "believe", "guess", "suspect", "assume", "sure", "uncertain", "unclear",
)  # fmt: skip
UNSETTLED_HINTS: Final = (
    "to be ",
    "investigation",
    "pending",
    "verified",
    "confirmed",
    "validated",
    "tbd",
    "tbc",
    "(?",
)

#: Between these and a hedge, the hedge belongs to a condition or a rule and not to the fact.
CONDITIONS: Final = r"if|when|whenever|unless|whether|until|in case|wherever|while|once|what|how|anything"
RELATIVES: Final = r"that|which|who|where|whatever|whichever|everything|something|code|steps?|commands?"
RULES: Final = r"must|never|always|do not|don't|should|so|avoid|only|forbidden|need|needs|cannot"

#: Somebody talks about the hedging word itself.
MENTIONS: Final = (
    r"words?|say|says|saying|write|writes|writing|avoid|phrases?|phrasing|types?|class|monad|called|named|like|no"
    r"|without|answers?|label|labels|marked|tag|tagged|status|state"
)

#: Folders on one machine. Infrastructure such as /etc, /srv, /opt, /usr and /var/lib or /var/log is not among them.
#: Each needs something below it: "/tmp is a tmpfs" names no file of anybody's.
UNIX_FOLDERS: Final = (
    r"home|Users|root|tmp|var/tmp|var/folders|dev/shm|run/user|workspaces?|private/(?:tmp|var)|mnt/[a-z]/Users"
    r"|Volumes|github/workspace|export/home"
)
WINDOWS_FOLDERS: Final = (
    r"users|documents and settings|temp|tmp|windows[\\/]+temp|dev|work|workspaces?|projects?|repos?|src|source|code|git"
)

#: What a topic branch begins with, before its slash.
TOPICS: Final = (
    "feature|feat|fix|bugfix|hotfix|chore|refactor|wip|topic|spike|experiment|perf|docs|test|task|issue|dependabot"
    "|renovate|codex|claude|agent|users?"
)
#: Those of them that are hardly ever the name of a folder.
PLAIN_TOPICS: Final = "feature|feat|fix|bugfix|hotfix|chore|wip|spike"
#: Branches that stand for years.
LONG_LIVED: Final = (
    "main|master|trunk|develop(?:ment)?|dev|next|staging|stage|stable|prod(?:uction)?|gh-pages|release[-/].*|v?\\d.*"
)

#: What a fact about a person begins with: "User: prefers tabs".
STATES: Final = (
    "always|answers|asks|dislikes|expects|has|hates|is|knows|likes|lives|needs|never|owns|prefers?|reads|replies"
    "|responds|runs|speaks|trusts|uses|values|wants|works|writes"
)
#: One-word answers after "User:", where a name would be a standing fact.
INTERJECTIONS: Final = (
    "yes|yep|yeah|no|nope|ok|okay|sure|thanks|thank|please|hi|hello|hey|stop|continue|done|fine|great|good|nice|go|wait"
    "|right|correct|wrong|perfect|run|fix|try|retry|commit|push|merge|deploy|undo|help"
)
