"""What the views show, of a project after weeks of use and of hostile, damaged and cloned ones."""

import re
from html import unescape

import pytest
from tests.core.conftest import NO_PLUGINS
from tests.plugins.web.conftest import served
from tests.support.trusting import foreign

from holdfast import FlushRefused, Holdfast
from holdfast_app.config import Config
from holdfast_app.outbox.outbox import Item, Outbox
from holdfast_web.rendering import to_html

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> \x1b[31mred\x1b]52;c;aGk=\x07 a\u202eb \u2066c {{ 7*7 }}"
)
RAW = re.compile(r"<script>alert|<img src=x|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text):
    """The page's text without tags, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_session__after_a_compaction__shows_both_sides_and_a_checked_receipt(weeks):
    memory, client = weeks
    session = next(s for s in memory.sessions() if s.endswith("-10"))
    text = plain(client.get(f"sessions/{session}").text)
    assert text.count("compaction blocked , because the daily note could not be saved") == 1
    assert "blocked 1 time before it was saved" in text
    assert "5 messages left the context, 2 stayed" in text
    assert "Saved in the notes" in text
    assert "2 of 5 quoted in the notes; the rest stays word for word in the journal, 30 days beyond" in text
    assert "everything is stored as written" in text
    assert "changed or missing" not in text


def test_session__that_is_unsafe__is_due_in_words_for_people(serve, opened, project, payload):
    memory = opened()
    session = memory.session("s1")
    session.add("user", "Why did the import stop?")
    (project / ".holdfast" / "memory").touch()
    with pytest.raises(FlushRefused):
        session.flush(payload())
    client = serve(memory)
    due = plain(client.get().text.partition(">Due<")[2].partition(">Latest sessions<")[0])
    assert "UNSAFE: Why did the import stop?" in due
    assert "holdfast flush --session s1" in due
    assert "A manual flush was refused, because the" in plain(client.get("timeline").text)
    missing = client.get("facts/none")
    assert missing.status == 404
    assert ">Overview</a>" in missing.text
    assert ">1 UNSAFE</a>" in missing.text


def test_next_start__of_weeks__has_a_source_a_date_and_no_markdown_for_each_stored_line(weeks):
    _, client = weeks
    page = client.get("start").text.partition("As it is sent")[0].partition(">Profile and facts</h2>")[0]
    rows = re.findall(r'<tr role="row"(?: class="title")?>(<td.*?)</tr>', page, re.DOTALL)
    texts = [plain(row.partition("</td>")[0]) for row in rows]
    assert len(rows) > 30
    assert [text for text in texts if re.match(r"[-#>|*<]|\*\*|`", text)] == []
    stored = [row for row in rows if "/facts/fact_" in row or "/why/MEMORY.md%3A" in row]
    assert sum("/facts/fact_" in row for row in stored) >= 12
    assert [row for row in stored if not re.search(r">2026-\d\d-\d\d<", row)] == []
    assert [row for row in rows if row.count("<a ") > 1] == []


def test_charts__wide_and_narrow__show_all_values_of_the_span_on_one_scale(weeks):
    _, client = weeks
    for days in (30, 90, 730):
        page = client.get(f"timeline?days={days}").text
        saved = int(re.search(r"(\d+) flush\w* saved", page)[1])
        for chart in page.split("<svg")[1:3]:
            found = re.findall(r'class="(\w+)"[^>]*height="([\d.]+)" rx="1.5">.*?class="value"[^>]*>(\d+)<', chart)
            assert sum(int(value) for lane, _, value in found if lane == "flushes") == saved > 4, days
            most = max(int(value) for _, _, value in found)
            assert all(float(h) in (3, round(24 * int(value) / most, 2)) for _, h, value in found), days


def test_text__of_hostile_sessions_notes_and_facts__is_shown_as_text(serve, opened, payload, project):
    memory = opened()
    session = memory.session("s<b>1")
    for role in ("user", "assistant", "tool"):
        session.add(role, HOSTILE, message_id=f"id-{role}", tool="<i>x" if role == "tool" else "")
    curated = {"memory": [f"- {HOSTILE}"], "user": [HOSTILE]}
    session.compact(0, payload(objective=HOSTILE, facts=[HOSTILE], next_step=HOSTILE, curated=curated))
    memory.facts.create(HOSTILE, source=HOSTILE)
    fact = memory.facts.create(f"{HOSTILE} 2").fact
    memory.facts.delete(fact.id)
    state, at = memory.services.state, memory.services.now()
    Outbox(state).put([Item(id="0" * 20, plugin="<b>x", flush="f", target=HOSTILE, body=HOSTILE, at=at, due=at)])
    (project / ".holdfast" / "memories").mkdir()
    (project / ".holdfast" / "memories" / "a&b='x.md").write_bytes(f"# {HOSTILE}\n\n{HOSTILE}".encode())
    (project / ".holdfast" / "MEMORY.md").write_bytes(f"# {HOSTILE}\n\n- {HOSTILE}\n".encode())
    client = serve(memory)
    views = ["", "sessions", "sessions/s%3Cb%3E1", "notes", "memory", "memory?document=USER.md", "facts", "work"]
    views += ["start", "departures"]
    views += [f"facts/{fact.id}", "search?q=alert", "documents/memories/a&b='x.md", "documents/USER.md"]
    views += ["documents/memory/2026-11-21.md", "search?q=%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE"]
    for view in views:
        answer = client.get(view)
        assert answer.status == 200, view
        assert not RAW.search(answer.text), view
        assert "49 }}" not in answer.text
    shown = plain(client.get("documents/memories/a&b='x.md").text)
    assert "<script>alert(1)</script>" in shown
    assert r"\x1b[31mred\x1b]52;c;aGk=\x07 a\u202eb \u2066c {{ 7*7 }}" in shown


def test_secret__stored_before_a_rule_knew_it__is_on_no_page(project, payload):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    said = f"Use the token {secret}"
    with Holdfast.open(project, config=Config(zone="UTC", plugins=NO_PLUGINS)) as memory:
        memory.facts.create(said, source=said)
        fact = memory.facts.create(f"The deploy day is {secret}").fact
        memory.facts.remember("The deploy day is Tuesday")
        session = memory.session("s1")
        session.add("user", said)
        session.add("tool", said, tool=said)
        curated = {"memory": [said], "user": [said]}
        words = {"facts": [said], "decisions": [said], "next_step": said, "blockers": [said], "follow_ups": [said]}
        session.compact(0, payload(objective=said, curated=curated, **words))
        (project / ".holdfast" / "memory").rename(project / "aside")
        (project / ".holdfast" / "memory").touch()
        session.add("user", said)
        with pytest.raises(FlushRefused):
            session.compact(0)
        session.override(said)
        session.compact(0)
        (project / ".holdfast" / "memory").unlink()
        (project / "aside").rename(project / ".holdfast" / "memory")
    with Holdfast.open(project, config=Config(zone="UTC")) as memory:
        (project / ".holdfast" / "USER.md").write_text(f"# User\n\n- {said}\n")
        memory.deep_dream()
        with served(memory) as client:
            pages = client.enter().crawl(70)
            named = ["start", f"facts/{fact.id}", "departures", "search?q=token", f"search?q={secret}"]
            for view in (*named, "dreams?show=all"):
                pages[view] = client.get(view)
            assert {path for path, page in pages.items() if page.status != 200} == set()
            shown = {path for path, page in pages.items() if secret in page.text}
            assert shown == {f"search?q={secret}"}  # the reader's own words, in the search field
            assert sum("REDACTED" in page.text for page in pages.values()) > 10


def test_clone__with_memory_of_another_machine__withholds_its_content(serve, opened, project):
    foreign(project)
    client = serve(opened())
    assert "withheld" in plain(client.get().text).lower()
    for view in ("", "memory", "notes", "facts", "facts?order=confidence", "start", "search?q=curl",
                 "documents/MEMORY.md", "documents/memory/2026-11-20.md"):  # fmt: skip
        answer = client.get(view)
        assert answer.status == 200, view
        assert "evil.example" not in answer.text, view
    assert "Withheld" in client.get("documents/MEMORY.md").text
    assert "Withheld" in client.get("facts").text
    assert client.get("facts/fact_12345678").status == 404


#: Every tag, with its attributes, that may be written.
ALLOWED = re.compile(
    r'</?(?:p|em|strong|s|ul|ol|li|blockquote|table|thead|tbody|tr|th|td|h[2-6]|code)(?: id="L\d+")?>|<br>|<hr>'
    r'|<pre(?: id="L\d+")? tabindex=0>|</pre>|<a href="https?://[^"<>]*" rel="noopener noreferrer">|</a>'
)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "text <img src=x onerror=alert(1)> more",
        "[click](javascript:alert(1))",
        "[click](JaVaScRiPt:alert(1)) [x](data:text/html,<b>) [y](vbscript:x) [z](file:///etc/passwd)",
        "[rel](//evil.example/x) [path](/etc/passwd) [frag](#x)",
        '[quote](https://e.example/"onmouseover="alert(1))',
        "![picture](https://tracker.example/1.png)",
        "<https://ok.example> <javascript:alert(1)>",
        "# <b>heading</b>\n\n- <i>item</i>\n\n> <u>quote</u>\n\n    <code block>\n",
        "```html\n</code></pre><script>\n```",
        "|a|b|\n|--|:-:|\n|<x>|`</td>`|",
        "<!-- holdfast:block id=x --><style>*{}</style>",
        "&lt;script&gt; &#60;script&#62; \\<script>",
        "*" * 500 + "a" + "*" * 500,
        "> " * 300 + "deep",
        "- " * 300 + "deep",
        "[" * 500 + "](" * 500,
        "a\u202eb \x1b[31mred\x1b[0m \x9b31m \u2066x\u2069 \x00 \ufeff",
    ],
)
def test_to_html__of_any_text__writes_listed_tags_only(text):
    html = to_html(text)
    rest = ALLOWED.sub("", html)
    assert "<" not in rest
    assert ">" not in rest
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
