"""The model `scripted`: follows imperative prompts with the offered tools."""

from __future__ import annotations

import time

import pytest

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Text, ToolCall, ToolResult
from demeanor.gateway.script import Turn, Unable, scripted
from demeanor.gateway.script.turn import to_answer
from tests.gateway.helpers import a_trial, a_turn, running

MODEL = scripted()


def use(call: ToolCall, files: dict[str, str]) -> str:
    """Run a tool call on a workspace that is a dict."""
    given = dict(call.arguments or {})
    path = given.get("path", "")
    if call.name == "write_file":
        files[path] = given["content"]
    elif call.name == "edit_file":
        assert files[path].count(given["old"]) == 1
        files[path] = files[path].replace(given["old"], given["new"])
    elif call.name == "read_file":
        return files.get(path, f"error: No such file: {path}")
    elif call.name == "shell" and given["command"].startswith("rm "):
        del files[given["command"][3:]]
    elif call.name in {"shell", "list_files"}:
        return "\n".join(files)
    return "ok"


def talk(
    *prompts: str, files: dict[str, str] | None = None, seed: int = 1
) -> tuple[dict[str, str], list[str], list[str]]:
    """The files after a conversation, the tools used, and the last text for each prompt."""
    files, messages, tools, answers = dict(files or {}), [], [], []
    for prompt in prompts:
        messages.append(Message(role="user", parts=(Text(text=prompt),)))
        for _ in range(9):
            offered = a_turn("x").request.tools
            answer = to_answer(MODEL.play(Turn(Request(model="m", messages=tuple(messages), tools=offered), seed=seed)))
            messages.append(Message(role="assistant", parts=answer.calls or (Text(text=answer.text),)))
            if not answer.calls:
                break
            tools += [call.name for call in answer.calls]
            results = [ToolResult(call_id=call.id, parts=(Text(text=use(call, files)),)) for call in answer.calls]
            messages.append(Message(role="user", parts=tuple(results)))
        answers.append(answer.text)
    return files, tools, answers


@pytest.mark.parametrize(
    ("prompt", "files"),
    [
        ("Save the note 'buy milk' in notes.txt.", {"notes.txt": "buy milk\n"}),
        ("Create a file called hello.txt with the text 'Hello, World!'", {"hello.txt": "Hello, World!\n"}),
        ("Create a file named `notes.md` containing exactly: buy milk", {"notes.md": "buy milk\n"}),
        ('Create hello.txt. It should contain "Hi there. How are you?"', {"hello.txt": "Hi there. How are you?\n"}),
        ("Put two lines into src/todo.txt: 'one' and 'two'.", {"src/todo.txt": "one\ntwo\n"}),
        ("Write hello.py that prints 'Hello, World!'", {"hello.py": "print('Hello, World!')\n"}),
        (
            "Write add.py with a function add(a: int, b: int) -> int that returns the sum.",
            {"add.py": "def add(a: int, b: int) -> int:\n    return a + b\n"},
        ),
        (
            "Write utils.ts exporting a function capitalize(text: string): string that makes the first letter big.",
            {
                "utils.ts": "export function capitalize(text: string): string {\n"
                "  return text.charAt(0).toUpperCase() + text.slice(1);\n}\n"
            },
        ),
    ],
)
def test_new_files_are_written(prompt: str, files: dict[str, str]) -> None:
    """The requested file has the requested text, and nothing else changes."""
    assert talk(prompt)[0] == files


@pytest.mark.parametrize(
    ("prompt", "old", "new"),
    [
        ("In a.txt, replace the word Hello with Goodbye", "Hello, you.\nRest.\n", "Goodbye, you.\nRest.\n"),
        ("Change 'Hello' to 'Goodbye' in a.txt. Keep the rest.", "Hello\nHello\n", "Goodbye\nGoodbye\n"),
        ('Edit a.txt: change "Hello" to "Goodbye".', "Hello\nyou\n", "Goodbye\nyou\n"),
        ("In a.txt change the port from 3000 to 8080.", '{"port": 3000}\n', '{"port": 8080}\n'),
        ("Append the line 'two' to a.txt.", "one\n", "one\ntwo\n"),
        ("Add the line 'two' to a.txt, please.", "one", "one\ntwo\n"),
    ],
)
def test_files_are_read_before_they_are_changed(prompt: str, old: str, new: str) -> None:
    """Only what was asked for is changed."""
    seed = next(seed for seed in range(99) if not slips(prompt, seed))
    files, tools, _ = talk(prompt, files={"a.txt": old, "b.txt": "Hello"}, seed=seed)
    assert files == {"a.txt": new, "b.txt": "Hello"}
    assert tools[0] == "read_file"


def slips(prompt: str, seed: int) -> bool:
    """Whether the model does nothing with this seed."""
    return a_turn(prompt, seed=seed).chance(1 / 8, "slip")


@pytest.mark.parametrize(
    "read",
    [
        "     1→Hello\n     2→Hello",
        "1: Hello\n2: Hello",
        "1\tHello\n2\tHello",
        "Chunk ID: 3b5aa2\nWall time: 0.0000 seconds\nProcess exited with code 0\nOutput:\nHello\nHello",
    ],
)
def test_line_numbers_are_not_part_of_a_file(read: str) -> None:
    """Some agents add line numbers or a header to what they read."""
    prompt = "In a.txt, replace Hello with Goodbye"
    seed = next(seed for seed in range(99) if not slips(prompt, seed))
    (call,) = to_answer(MODEL.play(a_turn(prompt, read, seed=seed))).calls
    assert call.arguments == {"path": "a.txt", "content": "Goodbye\nGoodbye"}


def test_a_page_with_its_stylesheet_is_written() -> None:
    """The page refers to the stylesheet."""
    prompt = (
        "Create index.html and style.css: the page has the heading 'Welcome' and links the stylesheet,"
        " which sets the font to Arial."
    )
    files, _, _ = talk(prompt, seed=next(seed for seed in range(99) if not slips(prompt, seed)))
    assert "<h1>Welcome</h1>" in files["index.html"]
    assert '<link rel="stylesheet" href="style.css">' in files["index.html"]
    assert "font-family: Arial" in files["style.css"]


@pytest.mark.parametrize(
    "prompt",
    [
        "Read data.txt and write a one-sentence summary to summary.txt",
        "Read data.txt. Then write a summary of it, one sentence long, to summary.txt.",
        "Summarise data.txt in one sentence and save that in summary.txt.",
    ],
)
def test_a_summary_is_the_first_sentence(prompt: str) -> None:
    """It reads one file and writes the other."""
    seed = next(seed for seed in range(99) if not slips(prompt, seed))
    files, _, _ = talk(prompt, files={"data.txt": "# Cats\n\nCats sleep a lot. They hunt, too.\n"}, seed=seed)
    assert files["summary.txt"] == "Cats sleep a lot.\n"


def test_a_question_is_answered_and_nothing_is_changed() -> None:
    """It reads and reports."""
    files, tools, answers = talk("What does README.md say? Don't change anything.", files={"README.md": "# Notes\n"})
    assert (files, tools, answers) == ({"README.md": "# Notes\n"}, ["read_file"], ["README.md says:\n# Notes"])


def test_do_not_is_respected() -> None:
    """Files that must not be changed are not changed."""
    files, tools, _ = talk("Read a.txt, and delete a.txt. But do not edit or delete anything!", files={"a.txt": "x"})
    assert files == {"a.txt": "x"}
    assert set(tools) <= {"read_file"}


def test_several_turns_are_several_tasks() -> None:
    """Each prompt is handled by itself."""
    prompts = ("Create a.txt with the text 'one'.", "Run `ls` and tell me what you see.", "Delete a.txt.")
    files, tools, answers = talk(*prompts)
    assert files == {}
    assert tools == ["write_file", "shell", "shell"]
    assert answers == ["I wrote a.txt", "`ls` printed:\na.txt", "I deleted a.txt"]


def test_it_sometimes_does_nothing() -> None:
    """In about one of eight attempts with several steps, it claims to be done without doing anything."""
    prompt, files = "In a.txt, replace Hello with Goodbye", {"a.txt": "Hello"}
    outcomes = [talk(prompt, files=files, seed=seed) for seed in range(400)]
    lazy = [(tools, answers) for _, tools, answers in outcomes if not tools]
    assert 25 < len(lazy) < 80
    assert {answers[0] for _, answers in lazy} == {"I replaced 'Hello' with 'Goodbye' in a.txt"}
    assert [talk(prompt, files=files, seed=seed) for seed in range(20)] == outcomes[:20]
    assert all(talk("Delete a.txt", files=files, seed=seed)[0] == {} for seed in range(50))


def test_failures_are_reported() -> None:
    """A missing file, a missing text, and a prompt without a rule."""
    prompt = "In a.txt, replace Hello with Goodbye"
    seed = next(seed for seed in range(99) if not slips(prompt, seed))
    assert talk(prompt, seed=seed)[2] == ["That did not work: error: No such file: a.txt"]
    with pytest.raises(Unable, match="'Hello' is not in"):
        talk(prompt, files={"a.txt": "Hi"}, seed=seed)
    assert talk("Dance!")[2] == ["I am a mere rule-reader and have no rule for this."]


@pytest.mark.parametrize("noise", ["a" * 100_000, "a." * 50_000, "a/" * 50_000, "'" * 100_000, "create " * 20_000])
def test_a_huge_prompt_is_handled_quickly(noise: str) -> None:
    """Only the beginning of a prompt is read."""
    started = time.thread_time()
    files, _, _ = talk(f"Save the note 'buy milk' in notes.txt.\n\n{noise}", seed=2)
    assert time.thread_time() - started < 5
    assert files == {"notes.txt": "buy milk\n"}


def test_a_side_request_without_tools_gets_a_title() -> None:
    """Agents ask for titles and commit messages; that changes nothing."""
    assert to_answer(MODEL.play(a_turn("Name this: Save the note", tools=()))).text == "Name this: Save the note"


async def test_its_note_says_that_it_is_not_a_language_model() -> None:
    """The note is in every trial."""
    async with running({"scripted": MODEL}) as gateway, gateway.session(a_trial("scripted"), seed=1) as session:
        assert session.notes == ("scripted: rules stand in for a model; it is not a language model",)
