"""How an agent takes what comes while it works, and what it knows already."""

from demeanor import USUALLY_PASSES, Rig, Stage, Steer, eval_test

NAMES = ("users", "orders", "items")
EARLIER = [
    {"role": "user", "text": "Which port does the server use?"},
    {
        "role": "assistant",
        "calls": [{"tool": "read_file", "arguments": {"path": "server.conf"}, "result": "port = 4711\n"}],
    },
    {"role": "assistant", "text": "It uses port 4711."},
]


def writes(stage: Stage, name: str, quote: str) -> None:
    content = f"TABLE = {quote}{name}{quote}\n"
    (stage.workspace / f"{name}.py").write_text(content)
    stage.call("write_file", path=f"{name}.py", content=content)


def follows(stage: Stage) -> None:
    quote = '"'
    for name in NAMES:
        writes(stage, name, quote)
        quote = "'" if stage.steered() else quote


def goes_on_as_before(stage: Stage) -> None:
    for name in NAMES:
        writes(stage, name, '"')
        stage.steered()


@eval_test(
    USUALLY_PASSES,
    prompt="Write users.py, orders.py and items.py, each with the constant TABLE: the name of the table.",
    steer=[Steer(after="edit", say="Use single quotes from now on.")],
    tags=["conversation"],
    passes_on=follows,
    fails_on=goes_on_as_before,
)
def follows_a_hint_while_it_works(rig: Rig, result: str) -> None:
    """What it writes after the hint follows it."""
    assert rig.steered, "it wrote nothing, so the hint was not given"
    late = [rig.workspace[f"{name}.py"].text for name in NAMES][1:]
    assert all("'" in text and '"' not in text for text in late)


def answers(stage: Stage) -> None:
    (stage.workspace / "port.txt").write_text("4711\n")
    stage.call("write_file", path="port.txt", content="4711\n")


def reads_again(stage: Stage) -> None:
    stage.call("read_file", path="server.conf", result="port = 4711\n")
    answers(stage)


def guesses(stage: Stage) -> None:
    (stage.workspace / "port.txt").write_text("8080\n")
    stage.call("write_file", path="port.txt", content="8080\n")


@eval_test(
    USUALLY_PASSES,
    prompt="Write the port into port.txt.",
    files={"server.conf": "port = 4711\n"},
    messages=EARLIER,
    tags=["frugality"],
    passes_on=answers,
    fails_on=[reads_again, guesses],
)
def uses_what_it_has_read(rig: Rig, result: str) -> None:
    """The conversation has the content of the file already."""
    assert rig.workspace["port.txt"].text.strip() == "4711"
    assert not rig.calls.of_kind("read").where(path="server.conf"), "it read the file again"
