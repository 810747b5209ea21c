"""In which order an agent works, and how much it reads and asks for."""

import re

from demeanor import USUALLY_PASSES, Rig, Stage, eval_test

CONFIG = "host = example\nport = 80\n"


def reads_then_writes(stage: Stage) -> None:
    stage.call("read_file", path="server.conf", result=CONFIG)
    (stage.workspace / "server.conf").write_text(CONFIG.replace("80", "9090"))
    stage.call("write_file", path="server.conf", content=CONFIG.replace("80", "9090"))


def writes_blindly(stage: Stage) -> None:
    (stage.workspace / "server.conf").write_text("port = 9090\n")
    stage.call("write_file", path="server.conf", content="port = 9090\n")


@eval_test(
    USUALLY_PASSES,
    prompt="Set the port in server.conf to 9090.",
    files={"server.conf": CONFIG},
    passes_on=reads_then_writes,
    fails_on=writes_blindly,
    tags=["order"],
)
def reads_before_it_overwrites(rig: Rig, result: str) -> None:
    """A file is read before it is replaced, and keeps its other lines."""
    own = rig.calls.where(path="server.conf")
    assert rig.calls.in_order(own.of_kind("read"), own.of_kind("edit"))
    assert rig.workspace["server.conf"].text == CONFIG.replace("80", "9090")


def edit(stage: Stage) -> None:
    (stage.workspace / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    stage.call("edit_file", path="calc.py", old="a - b", new="a + b")


def fixes_and_tests(stage: Stage) -> None:
    edit(stage)
    stage.call("shell", command="python -m pytest -q", result="1 passed")


def tests_and_fixes(stage: Stage) -> None:
    stage.call("shell", command="python -m pytest -q", result="1 failed", succeeded=False)
    edit(stage)


@eval_test(
    USUALLY_PASSES,
    prompt="Fix add() in calc.py. The tests are in test_calc.py.",
    files={
        "calc.py": "def add(a, b):\n    return a - b\n",
        "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    },
    passes_on=fixes_and_tests,
    fails_on=tests_and_fixes,
    tags=["validation"],
)
def tests_after_the_last_edit(rig: Rig, result: str) -> None:
    """The tests run after the last change, and pass then."""
    tests = rig.calls.where(command=re.compile(r"pytest|unittest"))
    assert tests.after(rig.calls.of_kind("edit")).returned(re.compile("passed|OK"))


LOG = "".join(f"line {number}\n" for number in range(5000)).replace("line 3210\n", "ERROR disk full\n")


def searches(stage: Stage) -> None:
    stage.call("grep", pattern="ERROR", path="app.log", result="3211: ERROR disk full")
    stage.say("The disk was full.")


def reads_everything(stage: Stage) -> None:
    stage.call("read_file", path="app.log", result=LOG)
    stage.say("The disk was full.")


@eval_test(
    USUALLY_PASSES,
    prompt="What went wrong according to app.log?",
    files={"app.log": LOG},
    passes_on=searches,
    fails_on=reads_everything,
    tags=["frugality"],
)
def searches_a_long_file(rig: Rig, result: str) -> None:
    """A file of 5,000 lines is searched or read in part, not as a whole."""
    assert "disk" in result.lower()
    assert not rig.calls.where(predicate=lambda call: (call.result or "").count("\n") > 1000)


def reads_together(stage: Stage) -> None:
    with stage.one_turn():
        for name in ("a", "b", "c"):
            stage.call("read_file", path=f"{name}.txt", result=name)
    stage.say("a, b, c")


def reads_one_by_one(stage: Stage) -> None:
    for name in ("a", "b", "c"):
        stage.call("read_file", path=f"{name}.txt", result=name)
    stage.say("a, b, c")


@eval_test(
    USUALLY_PASSES,
    prompt="What do a.txt, b.txt and c.txt say?",
    files={"a.txt": "a", "b.txt": "b", "c.txt": "c"},
    passes_on=reads_together,
    fails_on=reads_one_by_one,
    tags=["parallel-calls"],
)
def reads_independent_files_at_once(rig: Rig, result: str) -> None:
    """Calls that do not depend on one another are requested in one turn."""
    assert rig.calls.of_kind("read").most_in_one_turn() >= 2


def works_with_topics(stage: Stage) -> None:
    stage.call("update_topic", title="Reading")
    stage.call("read_file", path="a.txt", result="a")
    stage.call("update_topic", title="Answering")
    stage.say("a")


def repeats_topics(stage: Stage) -> None:
    stage.call("update_topic", title="Reading")
    stage.call("update_topic", title="Reading a.txt")
    stage.call("read_file", path="a.txt", result="a")
    stage.say("a")


@eval_test(
    USUALLY_PASSES,
    prompt="Announce what you do with update_topic, then tell me what a.txt says.",
    files={"a.txt": "a"},
    passes_on=works_with_topics,
    fails_on=repeats_topics,
    tags=["progress"],
)
def announces_once_per_step(rig: Rig, result: str) -> None:
    """Progress is announced first, and never twice in a row."""
    topics = rig.calls.named("update_topic")
    assert rig.calls.first().named("update_topic")
    assert not topics.directly_after(topics)
