"""Anthropic's memory tool over a store: each command, each documented text, and nothing outside of /memories."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.plugins.facts.test_facts import Masker

from holdfast_app.memorytool import MemoryTool


@pytest.fixture
def tool(opened):
    return MemoryTool(opened())


@pytest.fixture
def do(tool):
    """``do("view", path=...)`` returns the text; an error must be an error."""
    return lambda command, **given: tool.run({"command": command, **given})


@pytest.fixture
def refused(tool):
    """The text of a command that must fail."""

    def run(command, **given):
        answer = tool.answer({"command": command, **given})
        assert answer.failed, answer.text
        return answer.text

    return run


def numbered(*lines, first=1):
    return "\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines, first))


def test_view__a_directory__lists_two_levels_with_sizes_and_nothing_hidden(do):
    for path, size in (
        ("a.md", 10),
        ("work/b.md", 1024),
        ("work/deep/c.md", 512),
        ("work/deep/deeper/d.md", 5),
        ("node_modules/f.md", 7),
    ):
        do("create", path=f"/memories/{path}", file_text="x" * size)
    listed = do("view", path="/memories").splitlines()
    assert listed[1:] == [
        "1.5K\t/memories",
        "10B\t/memories/a.md",
        "1.5K\t/memories/work/",
        "1K\t/memories/work/b.md",
        "517B\t/memories/work/deep/",
    ]
    assert do("view", path="/memories/work/").splitlines()[2:] == [
        "1K\t/memories/work/b.md",
        "517B\t/memories/work/deep/",
        "512B\t/memories/work/deep/c.md",
        "5B\t/memories/work/deep/deeper/",
    ]


def test_view__a_file__has_line_numbers_and_ranges(do, refused):
    do("create", path="/memories/a.md", file_text="one\ntwo\nthree\n")
    head = "Here's the content of /memories/a.md with line numbers:\n"
    assert do("view", path="/memories/a.md") == head + numbered("one", "two", "three")
    assert do("view", path="/memories/a.md", view_range=[2, 3]) == head + numbered("two", "three", first=2)
    assert do("view", path="/memories/a.md", view_range=[3, -1]) == head + numbered("three", first=3)
    assert do("view", path="/memories/a.md", view_range=[2, 99]) == head + numbered("two", "three", first=2)
    for bad in ([0, 1], [4, 5], [2, 1], [1], "1-2", [True, 2], [1.0, 2]):
        assert "Invalid `view_range` parameter" in refused("view", path="/memories/a.md", view_range=bad)


def test_str_replace__by_many_at_once__loses_none(tool):
    tool.run({"command": "create", "path": "/memories/a.md", "file_text": "".join(f"<{n}>\n" for n in range(8))})

    def edit(n):
        tool.run({"command": "str_replace", "path": "/memories/a.md", "old_str": f"<{n}>", "new_str": f"done {n}"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(edit, range(8)))
    shown = tool.run({"command": "view", "path": "/memories/a.md"})
    assert shown.count("done") == 8


@pytest.mark.parametrize(("at", "expected"), [(0, "x y a b"), (1, "a x y b"), (2, "a b x y")])
def test_insert__after_a_line__is_there(do, at, expected):
    do("create", path="/memories/a.md", file_text="a\nb\n")
    done = do("insert", path="/memories/a.md", insert_line=at, insert_text="x\ny\n")
    assert done == "The file /memories/a.md has been edited."
    assert do("view", path="/memories/a.md").endswith("\n" + numbered(*expected.split()))


def test_rename__a_file_or_a_directory__has_moved(do, refused):
    for path in ("a.md", "d/b.md", "d/e/c.md"):
        do("create", path=f"/memories/{path}", file_text=f"text of {path}")
    renamed = do("rename", old_path="/memories/a.md", new_path="/memories/x/y.md")
    assert renamed == "Successfully renamed /memories/a.md to /memories/x/y.md"
    do("rename", old_path="/memories/d", new_path="/memories/new")
    assert do("view", path="/memories/x/y.md").endswith("text of a.md")
    assert do("view", path="/memories/new/e/c.md").endswith("text of d/e/c.md")
    assert "does not exist" in refused("view", path="/memories/d")
    assert refused("rename", old_path="/memories/d", new_path="/memories/z") == (
        "Error: The path /memories/d does not exist"
    )


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/memoriesx/a.md",
        "/etc/passwd",
        "/memories/../MEMORY.md",
        "/memories/a/../../MEMORY.md",
        "/memories/..\\MEMORY.md",
        "/memories/a\0b",
        "/memories/.hidden/a.md",
        "/memories/" + "a" * 300,
        "/memories/state.db",
    ],
)
def test_path__that_leads_out_or_is_not_portable__is_refused_by_every_command(do, refused, path, tool):
    do("create", path="/memories/a.md", file_text="a")
    for command, given in (
        ("view", {"path": path}),
        ("create", {"path": path, "file_text": "x"}),
        ("str_replace", {"path": path, "old_str": "a", "new_str": "b"}),
        ("insert", {"path": path, "insert_line": 0, "insert_text": "x"}),
        ("delete", {"path": path}),
        ("rename", {"old_path": path, "new_path": "/memories/n"}),
        ("rename", {"old_path": "/memories/a.md", "new_path": path}),
    ):
        assert refused(command, **given).startswith("Error: ")
    assert do("view", path="/memories").splitlines()[2:] == ["1B\t/memories/a.md"]


@pytest.mark.req("R240")
def test_gate__every_way_in__masks_and_refuses(opened, project):
    tool = MemoryTool(opened(Masker()))
    tool.run({"command": "create", "path": "/memories/a.md", "file_text": "pass hunter2\n"})
    tool.run({"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "again hunter2"})
    tool.run({"command": "str_replace", "path": "/memories/a.md", "old_str": "again", "new_str": "hunter2"})
    assert (project / ".holdfast" / "memories" / "a.md").read_text() == "pass [SECRET]\n[SECRET] [SECRET]\n"
    for command in (
        {"command": "create", "path": "/memories/b.md", "file_text": "forbidden"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "forbidden"},
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "pass", "new_str": "forbidden"},
    ):
        answer = tool.answer(command)
        assert answer.failed
        assert "not here" in answer.text
    assert not (project / ".holdfast" / "memories" / "b.md").exists()
