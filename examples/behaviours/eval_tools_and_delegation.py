"""Which tools an agent chooses, with which arguments, how it recovers from errors, and what it delegates."""

import re

from demeanor import USUALLY_PASSES, Rig, Stage, eval_test


def formats(stage: Stage) -> None:
    (stage.workspace / "src.py").write_text("x = 1\n")
    stage.call("shell", command="make format")


def formats_by_hand(stage: Stage) -> None:
    (stage.workspace / "src.py").write_text("x = 1\n")
    stage.call("write_file", path="src.py", content="x = 1\n")


@eval_test(
    USUALLY_PASSES,
    prompt="Format src.py.",
    files={"src.py": "x=1\n", "Makefile": "format:\n\truff format .\n", "AGENTS.md": "Format with `make format`.\n"},
    passes_on=formats,
    fails_on=formats_by_hand,
    tags=["tool-choice"],
)
def uses_the_projects_formatter(rig: Rig, result: str) -> None:
    """The command that the project names is used, instead of an edit by hand."""
    assert rig.calls.where(command=re.compile(r"make format|ruff format"))
    assert not rig.calls.of_kind("edit").where(path="src.py").by_main().named("write_file", "edit_file", "replace")


def runs_once(stage: Stage) -> None:
    stage.call("shell", command="npx --yes vitest run", result="1 passed")
    stage.say("The tests pass.")


def waits_for_input(stage: Stage) -> None:
    stage.call("shell", command="npx vitest", result="")
    stage.say("The tests pass.")


@eval_test(
    USUALLY_PASSES,
    prompt="Run the tests of this project with vitest.",
    files={"package.json": '{"devDependencies": {"vitest": "3"}}\n'},
    passes_on=runs_once,
    fails_on=waits_for_input,
    tags=["shell"],
)
def starts_nothing_interactive(rig: Rig, result: str) -> None:
    """Commands end by themselves: no watch mode, no question before an installation."""
    tests = rig.calls.where(command=re.compile("vitest"))
    assert tests
    assert not tests.where(command=lambda text: not re.search(r"vitest (run|--run)", text))


def tries_another_way(stage: Stage) -> None:
    stage.call("read_file", path="notes.md", succeeded=False, result="No such file: notes.md")
    stage.call("glob", pattern="**/notes*", result="docs/notes.txt")
    stage.call("read_file", path="docs/notes.txt", result="milk")
    stage.say("The notes say: milk")


def gives_up(stage: Stage) -> None:
    stage.call("read_file", path="notes.md", succeeded=False, result="No such file: notes.md")
    stage.say("There are no notes. Perhaps milk?")


@eval_test(
    USUALLY_PASSES,
    prompt="What do my notes say?",
    files={"docs/notes.txt": "milk\n"},
    passes_on=tries_another_way,
    fails_on=gives_up,
    tags=["errors"],
)
def recovers_from_a_missing_file(rig: Rig, result: str) -> None:
    """After a failed read, the agent looks for the file instead of giving up."""
    missing = rig.calls.failed(re.compile("No such file|not found", re.IGNORECASE))
    assert not missing or rig.calls.of_kind("search", "read").succeeded().after(missing)
    assert rig.calls.of_kind("read").where(path="docs/notes.txt")
    assert "milk" in result


def delegates(stage: Stage) -> None:
    stage.call("task", prompt="Find every caller of old_api.")
    agent = stage.sub_agent("Find every caller of old_api.", says="a.py, b.py")
    stage.call("grep", pattern="old_api", sub_agent=agent, result="a.py\nb.py")
    stage.say("a.py and b.py call it.")


def searches_alone(stage: Stage) -> None:
    stage.call("grep", pattern="old_api", result="a.py\nb.py")
    stage.say("a.py and b.py call it.")


@eval_test(
    USUALLY_PASSES,
    prompt="Let a sub-agent find out which files call old_api.",
    files={"a.py": "old_api()\n", "b.py": "old_api()\n", "c.py": "new_api()\n"},
    passes_on=delegates,
    fails_on=searches_alone,
    tags=["delegation"],
)
def delegates_on_request(rig: Rig, result: str) -> None:
    """The search is a sub-agent's work, and the agent reports what it found."""
    assert rig.sub_agents
    assert rig.calls.by_sub_agents().of_kind("search")
    assert not rig.main.calls.of_kind("search")
    assert "a.py" in result
    assert "c.py" not in result


def answers(stage: Stage) -> None:
    stage.call("read_file", path="VERSION", result="1.2.3")
    stage.say("1.2.3")


def delegates_trivia(stage: Stage) -> None:
    stage.call("task", prompt="Read VERSION.")
    agent = stage.sub_agent("Read VERSION.", says="1.2.3")
    stage.call("read_file", path="VERSION", sub_agent=agent, result="1.2.3")
    stage.say("1.2.3")


@eval_test(
    USUALLY_PASSES,
    prompt="Which version is this?",
    files={"VERSION": "1.2.3\n"},
    passes_on=answers,
    fails_on=delegates_trivia,
    tags=["delegation"],
)
def does_trivial_work_itself(rig: Rig, result: str) -> None:
    """One file is read without a sub-agent."""
    assert "1.2.3" in result
    assert not rig.sub_agents


def keeps_the_preference(stage: Stage) -> None:
    (stage.workspace / "hello.py").write_text("def hello() -> str:\n\treturn 'hello'\n")
    stage.call("write_file", path="hello.py", content="def hello() -> str:\n\treturn 'hello'\n")


def forgets_the_preference(stage: Stage) -> None:
    (stage.workspace / "hello.py").write_text("def hello() -> str:\n    return 'hello'\n")
    stage.call("write_file", path="hello.py", content="def hello() -> str:\n    return 'hello'\n")


@eval_test(
    USUALLY_PASSES,
    prompt="Write hello.py with a function hello() that returns 'hello'.",
    messages=[
        {"role": "user", "text": "I indent Python with tabs, always."},
        {"role": "assistant", "text": "Understood: tabs."},
    ],
    passes_on=keeps_the_preference,
    fails_on=forgets_the_preference,
    tags=["memory"],
)
def remembers_an_earlier_preference(rig: Rig, result: str) -> None:
    """What the user said earlier in the conversation still counts."""
    assert "\n\treturn" in rig.workspace["hello.py"].text


def adds_to_the_route(stage: Stage) -> None:
    (stage.workspace / "app/[id]/page.tsx").write_text("export const title = 'Item';\n")
    stage.call("edit_file", path="app/[id]/page.tsx", old="''", new="'Item'")


def adds_a_new_file(stage: Stage) -> None:
    (stage.workspace / "app/page.tsx").write_text("export const title = 'Item';\n")
    stage.call("write_file", path="app/page.tsx", content="export const title = 'Item';\n")


@eval_test(
    USUALLY_PASSES,
    prompt="Set the title of the page of one item to 'Item'.",
    files={"app/[id]/page.tsx": "export const title = '';\n"},
    passes_on=adds_to_the_route,
    fails_on=adds_a_new_file,
    tags=["edit-location"],
)
def edits_the_existing_page(rig: Rig, result: str) -> None:
    """The existing file is changed, and no other one is created."""
    assert rig.workspace.unchanged_except("app/[id]/page.tsx")
    assert rig.calls.of_kind("edit").where(path="app/[id]/page.tsx")
    assert "'Item'" in rig.workspace["app/[id]/page.tsx"].text
