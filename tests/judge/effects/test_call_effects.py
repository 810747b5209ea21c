"""Tool call → kind, effects and arguments by meaning, with the tools that real agents offer."""

from __future__ import annotations

import pytest

from demeanor.core.values.messages import Tool
from demeanor.core.values.trajectory import Kind
from demeanor.judge.effects.arguments import values
from demeanor.judge.effects.call_effects import call_facts
from tests.judge.helpers import called

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Delete File: b.py\n*** End Patch"


def facts(tool, /, offered=None, existed=(), **arguments):
    tools = {tool: offered} if offered else {}
    return call_facts(called(tool, **arguments), tools, lambda path: path in existed)


def shown(tool, /, **arguments):
    """The kinds and targets of a call, without that of executing it."""
    found = facts(tool, **arguments).effects
    effects = [f"{one.kind} {one.target}" for one in found.known if one.kind is not Kind.EXECUTE]
    return effects + ["unknown" for _ in found.unclear]


def offered(**properties) -> Tool:
    return Tool(name="t", schema={"type": "object", "properties": properties})


@pytest.mark.parametrize(
    ("tool", "arguments", "effects"),
    [
        ("shell", {"command": "rm a.txt"}, ["delete a.txt"]),  # native, goose
        ("Bash", {"command": "rm a.txt", "description": "Delete it"}, ["delete a.txt"]),  # claude-code
        ("run_commands", {"commands": ["cat a.txt", "rm a.txt"]}, ["read a.txt", "delete a.txt"]),  # cline
        ("exec_command", {"cmd": "rm a.txt", "workdir": "/w"}, ["delete /w/a.txt"]),  # codex
        ("shell", {"command": ["bash", "-lc", "rm a.txt"], "workdir": "/w"}, ["delete /w/a.txt"]),  # codex, older
        ("local_shell", {"type": "exec", "command": ["rm", "a.txt"]}, ["delete a.txt"]),  # Responses API
        ("write_stdin", {"session_id": 1, "chars": "rm a.txt\n"}, ["unknown"]),  # codex: input for a running program
        ("write_stdin", {"session_id": 1, "chars": ""}, []),  # codex: only waits
        ("apply_patch", {"input": PATCH}, ["edit a.py", "delete b.py"]),  # codex
        ("run_shell_command", {"command": "rm a.txt", "dir_path": "/w"}, ["delete /w/a.txt"]),  # gemini-cli
        ("replace", {"file_path": "a", "instruction": "i", "old_string": "x", "new_string": "y"}, ["edit a"]),
        ("read_files", {"files": [{"path": "/w/a"}, {"path": "/w/b"}]}, ["read /w/a", "read /w/b"]),  # cline
        ("editor", {"path": "a", "old_text": None, "new_text": "x"}, ["edit a"]),  # cline
        ("edit", {"filePath": "a", "oldString": "x", "newString": "y"}, ["edit a"]),  # opencode
        ("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, ["edit a"]),  # pi
        ("tool_call", {"name": "write_file", "arguments": {"file_path": "a", "content": "x"}}, ["edit a"]),  # qwen-code
        ("tool_call", {"name": "run_shell_command", "arguments": {"command": "rm a"}}, ["delete a"]),  # qwen-code
        ("bash", {"command": "sed -i s/x/y/ a"}, ["edit a"]),  # mini-swe-agent, opencode, pi
        ("file_editor", {"command": "view", "path": "a"}, ["read a"]),  # openhands
        ("file_editor", {"command": "create", "path": "a", "file_text": "x"}, ["edit a"]),
        ("str_replace_editor", {"command": "view", "path": "a"}, ["read a"]),
        ("str_replace_based_edit_tool", {"command": "delete", "path": "a"}, ["delete a"]),
        ("tool_search", {"query": "select:grep"}, ["other None"]),  # qwen-code: searches no files
        ("session_store_sql", {"query": "select 1", "source": "local"}, ["other None"]),  # copilot
        ("TodoList", {"todos": [{"title": "x"}]}, ["think None"]),  # kimi-code
        ("web_fetch", {"prompt": "Summarise https://example.com/x please"}, ["fetch https://example.com/x"]),  # gemini
        (
            "fetch_web_content",
            {"requests": [{"url": "https://e.com", "prompt": "p"}]},
            ["fetch https://e.com"],
        ),  # cline
        ("list_directory", {"dir_path": "src"}, ["search src"]),
        ("Agent", {"description": "d", "prompt": "rm a.txt", "subagent_type": "x"}, ["other None"]),
        ("task", {"description": "d", "prompt": "p", "command": "/review"}, ["other None"]),  # opencode
        ("mcp__fs__delete_file", {"path": "a"}, ["delete a"]),
        ("mcp__fs__write", {"path": "a", "content": "x"}, ["edit a"]),
        ("removeFile", {"path": "a"}, ["delete a"]),
        ("obliterate", {"path": "a"}, ["other None", "unknown"]),
        ("mcp__box__launch", {"cmd": "rm a"}, ["delete a"]),
    ],
)
def test_effects_by_tool_and_arguments(tool, arguments, effects):
    """The same deed has the same kind and target, whatever the agent calls its tool and its arguments."""
    assert shown(tool, **arguments) == effects


def test_file_that_is_replaced_by_moving_is_deleted():
    """`mv` onto a file of the starting workspace deletes it; a rename does not."""
    move = facts("shell", command="mv new.txt notes.txt", existed={"notes.txt", "new.txt"})
    rename = facts("shell", command="mv notes.txt other.txt", existed={"notes.txt"})
    assert [effect.target for effect in move.effects.of(["delete"])] == ["notes.txt"]
    assert not rename.effects.of(["delete"])


MEANINGS = [
    ("str_replace_editor", {"command": "insert", "path": "a", "insert_text": "x"}, "content", ("x",)),
    ("replace_file_content", {"TargetFile": "a", "Chunks": [{"TargetContent": "x"}]}, "old", ("x",)),
    ("edit_existing_file", {"filepath": "a", "changes": "x"}, "content", ("x",)),
    ("shell", {"command": "ls"}, "command", ("ls",)),
    ("exec_command", {"cmd": "ls", "justification": "why", "shell": "bash"}, "command", ("ls",)),
    ("shell", {"command": ["bash", "-lc", "ls -a"]}, "command", ("ls -a", "bash -lc 'ls -a'")),
    ("shell", {"command": ["ls", "a b"]}, "command", ("ls 'a b'",)),
    ("run_commands", {"commands": ["ls", "pwd"]}, "command", ("ls", "pwd")),
    ("search_codebase", {"queries": ["x", "y"]}, "pattern", ("x", "y")),
    ("grep_search", {"pattern": "x", "include_pattern": "*.py", "dir_path": "."}, "pattern", ("x",)),
    ("grep", {"pattern": "x", "glob": "*.py"}, "pattern", ("x",)),
    ("ToolSearch", {"query": "x"}, "pattern", ("x",)),
    ("webfetch", {"url": "https://e.com", "format": "text"}, "url", ("https://e.com",)),
    ("write_file", {"file_path": "a", "content": "x"}, "content", ("x",)),
    ("file_editor", {"command": "create", "path": "a", "file_text": "x"}, "content", ("x",)),
    ("editor", {"path": "a", "old_text": None, "new_text": "x"}, "content", ("x",)),
    ("notebook_edit", {"notebook_path": "a", "new_source": "x", "edit_mode": "insert"}, "content", ("x",)),
    ("edit", {"path": "a", "before": "x", "after": "y"}, "old", ("x",)),
    ("edit", {"path": "a", "before": "x", "after": "y"}, "new", ("y",)),
    ("edit", {"filePath": "a", "oldString": "x", "newString": "y"}, "new", ("y",)),
    ("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "p"}]}, "old", ("x", "p")),
    ("edit_file", {"path": "a", "old": "x", "new": "y"}, "content", ("y",)),
    ("read_file", {"absolute_path": "/a", "offset": 1}, "path", ("/a",)),
    ("list_directory", {"dir_path": "src"}, "path", ("src",)),
    ("run_shell_command", {"command": "ls", "dir_path": "src"}, "path", ()),
    ("write_file", {"path": "a", "content": "x"}, "old", ()),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "meaning", "found"), MEANINGS)
def test_arguments_by_meaning(tool, arguments, meaning, found):
    """Every shipped agent's names for a command, pattern, URL, content, old and new text, and path."""
    call = facts(tool, **arguments)
    assert values(call.arguments, meaning, call.kind) == found


def test_unknown_names_are_understood_by_the_schema():
    """An agent that nobody knows describes its arguments in the schema of its tools."""
    shell = offered(line={"type": "string", "description": "The shell command to run."}, note={"type": "string"})
    fetch = offered(where={"type": "string", "format": "uri"}, how={"type": "string"})
    edit = offered(
        doc={"type": "string", "description": "Path of the document"},
        was={"type": "string", "description": "The text to replace"},
        becomes={"type": "string", "description": "The replacement"},
    )
    assert values({"line": "ls", "note": "x"}, "command", Kind.EXECUTE, shell) == ("ls",)
    assert values({"where": "https://e.com", "how": "x"}, "url", Kind.FETCH, fetch) == ("https://e.com",)
    given = {"doc": "a", "was": "x", "becomes": "y"}
    assert [values(given, name, Kind.EDIT, edit) for name in ("path", "old", "new")] == [("a",), ("x",), ("y",)]


UNKNOWN_TOOLS = [
    ("runner", {"line": "The bash command to run."}, {"line": "rm -rf x"}, ["delete x"]),
    ("remove_document", {"doc": "File name."}, {"doc": "a.txt"}, ["delete a.txt"]),
    ("zap", {"target": "Path of the file."}, {"target": "a.txt"}, ["other None", "unknown"]),
    ("ask_user", {"text": "A question, for example about a command or a path."}, {"text": "Why?"}, ["other None"]),
    ("apply_diff", {"path": "", "diff": ""}, {"path": "a", "diff": "@@"}, ["edit a"]),
    ("file_search", {"query": ""}, {"query": "*.py"}, ["search None"]),
    ("search_issues", {"query": ""}, {"query": "crash"}, ["other None"]),
]


@pytest.mark.parametrize(("tool", "schema", "arguments", "effects"), UNKNOWN_TOOLS)
def test_a_tool_that_nobody_knows_is_understood_by_its_schema(tool, schema, arguments, effects):
    """Its name says little, but the agent told the model what its arguments are."""
    described = offered(**{name: {"type": "string", "description": text} for name, text in schema.items()})
    assert shown(tool, offered=described, **arguments) == effects


def test_only_text_of_a_tool_is_its_main_argument():
    """A shell with one argument of an unknown name has its command there."""
    assert values({"zeile": "ls", "timeout_ms": 5}, "command", Kind.EXECUTE) == ("ls",)
    assert values({"zeile": "ls", "spalte": "x"}, "command", Kind.EXECUTE) == ()


def test_hostile_arguments_are_bounded():
    """Arguments come from a model: deep and long structures are cut."""
    deep: dict = {"path": "a"}
    for _ in range(2000):
        deep = {"x": [deep]}
    assert values(deep, "path", Kind.READ) == ()
    many = {"files": [{"path": str(number)} for number in range(100_000)]}
    assert len(values(many, "path", Kind.READ)) <= 1000
