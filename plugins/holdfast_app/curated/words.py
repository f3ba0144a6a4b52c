"""The rules' English word lists. Other languages are not covered, so their diary lines pass.

A word is listed only when it says something about the *line*. Words that standing facts also use ("added", "moved",
"released", "founded") are left out, because a false refusal costs the user a fact.
"""

from __future__ import annotations

from typing import Final

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

#: Marks a leading date as part of the fact, not an entry's time.
STANDING_DATE: Final = (
    r"expir\w+|end[ -]of[ -](?:life|support|sale)|eol|sunset\w*|renew\w*|deadline|due|cut-?off|valid|freeze|holidays?"
    r"|birthday|anniversary|(?:release|launch|start|end|expiry|due|go-live) date|go-live"
)

#: Marks a time of day as a schedule, not an entry's time.
SCHEDULE: Final = (
    r"daily|nightly|weekly|monthly|hourly|every|each|always|never|cron|schedule\w*|window|backups?|maintenance"
    r"|meetings?|stand-?ups?|office hours|is|are|runs?|starts?|begins?|ends?|opens?|closes?|weekdays?"
)

#: After these words a hedge belongs to a condition or rule, not to the fact.
CONDITIONS: Final = r"if|when|whenever|unless|whether|until|in case|wherever|while|once|what|how|anything"
RELATIVES: Final = r"that|which|who|where|whatever|whichever|everything|something|code|steps?|commands?"
RULES: Final = r"must|never|always|do not|don't|should|so|avoid|only|forbidden|need|needs|cannot"

#: Marks a hedging word as mentioned rather than used.
MENTIONS: Final = (
    r"words?|say|says|saying|write|writes|writing|avoid|phrases?|phrasing|types?|class|monad|called|named|like|no"
    r"|without|answers?|label|labels|marked|tag|tagged|status|state"
)

#: Folders on one machine. Infrastructure such as /etc, /srv, /opt, /usr and /var/lib or /var/log is not among them.
#: Each needs a path below it: "/tmp is a tmpfs" does not name a user's file.
UNIX_FOLDERS: Final = (
    r"home|Users|root|tmp|var/tmp|var/folders|dev/shm|run/user|workspaces?|private/(?:tmp|var)|mnt/[a-z]/Users"
    r"|Volumes|github/workspace|export/home"
)
WINDOWS_FOLDERS: Final = (
    r"users|documents and settings|temp|tmp|windows[\\/]+temp|dev|work|workspaces?|projects?|repos?|src|source|code|git"
)

#: Prefixes of topic branches, before the slash.
TOPICS: Final = (
    "feature|feat|fix|bugfix|hotfix|chore|refactor|wip|topic|spike|experiment|perf|docs|test|task|issue|dependabot"
    "|renovate|codex|claude|agent|users?"
)
#: Long-lived branches.
LONG_LIVED: Final = (
    "main|master|trunk|develop(?:ment)?|dev|next|staging|stage|stable|prod(?:uction)?|gh-pages|release[-/].*|v?\\d.*"
)

#: First words of a fact about a person: "User: prefers tabs".
STATES: Final = (
    "always|answers|asks|dislikes|expects|has|hates|is|knows|likes|lives|needs|never|owns|prefers?|reads|replies"
    "|responds|runs|speaks|trusts|uses|values|wants|works|writes"
)
#: Spans of time that depend on the reader's day, after "this", "last" or "next".
SPANS: Final = "morning|afternoon|evening|night|week|weekend|month|quarter|year|sprint|session"
UNITS: Final = "(?:second|minute|hour|day|week|month)s?"
#: Words for the present hour.
NOW: Final = (
    "currently|right now|at the moment|for now|for the time being|in the meantime|recently|lately|not yet"
    "|temporary (?:workaround|fix|hack|measure|solution)"
)
#: Unfinished work.
UNFINISHED: Final = (
    r"waiting (?:for|on)|in progress|under (?:way|review)|(?:almost|nearly|half) (?:finished|done|ready)"
    r"|\d+ (?:open|remaining|pending) (?:bugs?|issues?|tickets?|prs?|tasks?)"
    r"|(?:of|more) .{1,40} (?:is|are) left"
    r"|(?:is|are|am) (?:leaning|being|about to|blocked (?:by|on))|still (?:needs?|fails?|open|broken|failing|waiting)"
)
REVIEW: Final = r"(?:pr|pull request|mr) #?\d+ (?:is|has|still|needs|waits)"
BEING: Final = "is|are|am|was|were|['’]m|['’]re"
DOING: Final = (
    "debugging|fixing|investigating|failing|crashing|hanging|draining|rewriting|refactoring|discussing|waiting|reviewing"
    "|working on|looking (?:into|at)|trying|deploying|rolling out|upgrading|leaking|rebasing"
)
BAD_STATES: Final = "down|stuck|red|(?:green|red|flaky|broken|slow|down) again"
#: Actions that begin a report of completed work.
JUST_DONE: Final = "restarted|reverted|merged|rebased|rebooted|re-?ran|debugged|investigated"
