"""The examples at the end of each command's help: command → lines, each with what it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

EXAMPLES: Mapping[str, Sequence[tuple[str, str]]] = {
    "run": (
        ("demeanor run", "all evals; in CI, those with ALWAYS_PASSES"),
        ("demeanor run evals/eval_notes.py --trials 10", "all evals of a file, ten trials each"),
        ("demeanor run --subject codex:gpt-5 -k notes", "other agent and model, evals that match"),
        ("demeanor run --dry-run", "the plan and its expected cost; runs nothing"),
        ("demeanor run --resume latest", "only the missing trials of the latest run"),
    ),
    "nightly": (
        ("demeanor nightly", "all evals on all subjects"),
        ("demeanor nightly --resume", "the missing trials of the last night"),
        ("demeanor nightly --budget 20usd", "with a limit on what it spends"),
    ),
    "gate": (
        ("demeanor gate", "may the checked-out change merge?"),
        ("demeanor gate --base origin/main", "compare with another commit than the default"),
        ("demeanor gate --max-trials 200 --comment", "in CI: limited, with a comment"),
    ),
    "compare": (
        ("demeanor compare --base main", "build and run this commit and main"),
        ("demeanor compare main feature", "two branches, from the history"),
        ("demeanor compare native:big native:small", "two subjects of stored runs"),
        ("demeanor compare --plan 95% 80%", "how many trials detect this drop?"),
    ),
    "promote": (
        ("demeanor promote", "which evals are ready for ALWAYS_PASSES?"),
        ("demeanor promote --apply", "change their policy, and verify it"),
        ("demeanor promote --demote", "which evals fail too often for it?"),
    ),
    "report": (
        ("demeanor report", "the last night and the seven before it"),
        ("demeanor report --nights 30", "more nights"),
        ("demeanor report --format html --output night.html", "as one file for a browser"),
        ("demeanor report --eval saves_the_note", "every night of an eval"),
        ("demeanor report --failures", "the failures of the latest run, in groups"),
        ("demeanor report --brief 1", "the first group as a task"),
        ("demeanor report results/* --metrics --k 5", "pass@5 and pass^5 of several runs"),
    ),
    "serve": (
        ("demeanor serve", "serve the dashboard at port 8765"),
        ("demeanor serve --port 0 --notes", "any free port; allow notes from the browser"),
        ("demeanor serve --export site", "write the pages of the last night as files"),
    ),
    "validate": (
        ("demeanor validate", "can each eval pass, and can it fail?"),
        ("demeanor validate evals/eval_notes.py", "the evals of one file"),
        ("demeanor validate --strict", "in CI"),
        ("demeanor validate --list -k 'notes and not slow'", "list the evals that match"),
        ("demeanor validate --calibrate asks_first", "is its judge right, by your labels?"),
    ),
    "trace": (
        ("demeanor trace", "the first trial of the latest run that did not pass"),
        ("demeanor trace saves_the_note/native:scripted/2", "one trial"),
        ("demeanor trace saves_the_note --diff", "beside the most similar passing trial"),
        ("demeanor trace --prompt", "the instructions that the agent sent, with ids"),
        ("demeanor trace EVAL/SUBJECT/1 --label flaky", "label a trial; --note TEXT adds why"),
        ("demeanor trace --notes", "all labels"),
    ),
    "rejudge": (
        ("demeanor rejudge", "the latest run, with the edited checks"),
        ("demeanor rejudge saves_the_note --last 5", "one eval, in its last five runs"),
        ("demeanor rejudge --watch", "again on every edit of an eval"),
        ("demeanor rejudge --watch --run --budget 1usd", "also run what can't be judged again"),
    ),
    "fix": (
        ("demeanor fix saves_the_note --dry-run", "the task for the fixing agent; runs nothing"),
        ("demeanor fix saves_the_note", "fix and verify; the result is a patch"),
        ("demeanor fix saves_the_note --apply", "also apply the patch"),
    ),
    "store": (
        ("demeanor store import other-machine/results", "all runs of a folder"),
        ("demeanor store export --format csv --output t.csv", "the latest run as a table"),
    ),
    "store import": (
        ("demeanor store import other-machine/results", "all runs of a folder"),
        ("demeanor store import report.json", "results of another tool"),
    ),
    "store export": (
        ("demeanor store export --format csv --output t.csv", "the latest run as a table"),
        ("demeanor store export --format otlp --output s.jsonl", "as OpenTelemetry spans"),
    ),
    "gateway": (
        ("demeanor gateway serve --model scripted", "serve one model"),
        ("demeanor gateway contract", "test all translations"),
    ),
    "gateway serve": (
        ("demeanor gateway serve --model scripted", "serve one model"),
        ("demeanor gateway serve --port 8080 --log x.jsonl", "with a log of all exchanges"),
        ("demeanor gateway serve --keep sessions", "keep the traffic, for evals"),
    ),
    "gateway contract": (
        ("demeanor gateway contract", "test all translations"),
        ("demeanor gateway contract -k 'ids and gemini'", "some of them"),
    ),
    "agents": (
        ("demeanor agents", "what is installed, what each supports"),
        ("demeanor agents install claude-code", "install the tested version"),
        ("demeanor agents check claude-code", "test it, without a paid model"),
    ),
    "models": (
        ("demeanor models", "the models that run on this machine"),
        ("demeanor models fetch qwen2.5-coder-1.5b", "download one"),
    ),
    "init": (
        ("demeanor init", "asks for agent, model and CI"),
        ("demeanor init --agent codex --ci gitlab", "without questions"),
    ),
    "init guides": (
        ("demeanor init guides", "guides for all coding agents"),
        ("demeanor init guides --for claude", "for one"),
        ("demeanor init guides --check", "are they up to date?"),
    ),
    "doctor": (
        ("demeanor doctor", "what works here, and how to fix the rest"),
        ("demeanor doctor --sandbox landlock", "the same with another sandbox level"),
        ("demeanor doctor --sandboxes", "try hostile actions at each sandbox level"),
    ),
    "help": (
        ("demeanor help", "list all pages"),
        ("demeanor help ci", "read one"),
        ("demeanor help --search nightly", "search all"),
        ("demeanor help rate_limit", "about an error, a void cause or an exit code"),
        ("demeanor help store import", "the options of a command"),
    ),
    "help commands": (("demeanor help commands", "every command with all of its options"),),
    "help schema": (
        ("demeanor help schema", "list all schemas"),
        ("demeanor help schema scenario > scenario.schema.json", "write one to a file"),
    ),
    "help completion": (
        ('eval "$(demeanor help completion bash)"', "for this shell"),
        ("demeanor help completion fish > ~/.config/fish/…", "for all new shells"),
    ),
}


def examples(lines: Sequence[tuple[str, str]]) -> str:
    """The examples of a command as text for the end of its help; empty if there are none."""
    width = max((len(line) for line, _ in lines), default=0)
    rows = [f"  {line:<{width}}  {about}" for line, about in lines]
    return "\n".join(["examples:", *rows]) if rows else ""
