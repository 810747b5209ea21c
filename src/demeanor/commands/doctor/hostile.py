"""`demeanor doctor --hostile`: run hostile agents at each sandbox level, and compare their verdicts with the table."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demeanor.commands.doctor.hostile_behaviour import Behaviour
from demeanor.commands.doctor.hostile_provider import failing_provider
from demeanor.commands.doctor.hostile_table import HOSTILE
from demeanor.core.text.codec import encode
from demeanor.core.text.wording import excerpt
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode

_SYSTEM_PYTHON = "/usr/bin/python3"
_TIMEOUT = 900.0
HOSTILE_TIMEOUT = 60.0
"""The time limit of each hostile agent that ends, in seconds; they must be done in time on a busy machine too."""

_ENDLESS_TIMEOUT = 5.0
"""The time limit of those that never end. They use all of it."""

_FROM_WORST = ("fail", "void", "pass")

_CONFIG = """\
attempts = {attempts}
[limits]
memory = "200 MiB"
disk = "50 MiB"
processes = 100
output = "1 MiB"
request = "4 MiB"
response = "4 MiB"
[budgets.trial]
tokens = 100_000
[models.forbidden]
script = "forbidden.yaml"
[models.failing]
provider = "failing"
model = "m"
[providers.failing]
base_url = "http://127.0.0.1:{port}"
dialect = "openai-chat"
concurrency = 2
[agents.hostile]
adapter = "command"
command = ["sh", "agent.sh", "{{prompt}}"]
env = {{ GIT_CONFIG_NOSYSTEM = "1" }}
exit_codes = [0]
[agents.caller]
adapter = "command"
dialect = "openai-chat"
command = ["/usr/bin/python3", "-I", "agent.py", "{{prompt}}", "{{mcp_config}}"]
env = {{ BASE_URL = "{{base_url}}", TOKEN = "{{token}}" }}
exit_codes = [0]
[agents.asker]
adapter = "acp"
dialect = "openai-chat"
command = ["/usr/bin/python3", "-I", "agent.py"]
env = {{ BASE_URL = "{{base_url}}", TOKEN = "{{token}}" }}
"""
_EVAL = """\
@eval_test(ALWAYS_PASSES, name={name!r}, prompt={goal!r}, files={files!r}, trials=1, timeout={limit}{arguments})
def check_{number}(rig, result):
    {check}

"""
_REHEARSAL = """\
def honest_{number}(stage):
    (stage.workspace / "out.txt").write_text({text!r})

"""


@dataclass(frozen=True, kw_only=True, slots=True)
class HostileResult:
    """How the trial of one hostile agent ended at one level."""

    level: str
    """The sandbox level."""

    tried: str
    """What the agent does."""

    goal: str
    """What it wants."""

    earned: str
    """The verdict that it earned."""

    got: str
    """The verdict that it got: pass, fail, void, or `not run` with the reason."""

    because: str = ""
    """A regular expression for the reason of a required failure."""

    detail: str = ""
    """The reasons of the verdict."""

    @property
    def right(self) -> bool:
        """Whether verdict and reason are the required ones; a behaviour that can't be tried here is not wrong."""
        if self.got == self.earned == "fail":
            return re.search(self.because, self.detail) is not None
        return self.got == self.earned or self.got.startswith("not run")

    @property
    def better(self) -> bool:
        """Whether it got a better verdict than it earned."""
        return self.got in _FROM_WORST and _FROM_WORST.index(self.got) > _FROM_WORST.index(self.earned)


def print_hostile(levels: Iterable[str], *, timeout: float, as_json: bool) -> ExitCode:
    """Run the table at some levels, print what each agent tried, earned and got; exit with 1 if a verdict is wrong."""
    results = [result for level in levels for result in run_hostile(level, timeout=timeout)]
    if as_json:
        print(json.dumps(encode(results), indent=2))
    else:
        width = max(len(result.tried) for result in results)
        print(f"{'':<6} {'level':<11} {'tried':<{width}} {'earned':<7} {'got':<8} to")
        for result in results:
            state = "ok" if result.right else "WRONG"
            verdicts = f"{result.earned:<7} {result.got:<8}"
            print(f"{state:<6} {result.level:<11} {result.tried:<{width}} {verdicts} {result.goal}")
            if not result.right:
                print(f"{'':<6} earned {result.earned} {result.because!r}: {excerpt(result.detail, lines=3)}")
        better, wrong = sum(result.better for result in results), sum(not result.right for result in results)
        print(f"{len(results)} hostile agents: {better} got a better verdict than they earned, {wrong} a wrong one")
    return ExitCode.ACCEPTED if all(result.right for result in results) else ExitCode.REJECTED


def run_hostile(level: str, *, timeout: float, table: Sequence[Behaviour] = HOSTILE) -> Iterator[HostileResult]:
    """The verdicts of the hostile agents in a table at a level. Root never runs them without isolation."""
    if level == "none" and os.getuid() == 0:
        raise UsageError(
            "hostile agents are not run as root at the level none, which isolates nothing\n"
            "  → run demeanor doctor --hostile as an ordinary user"
        )
    has_python = Path(_SYSTEM_PYTHON).exists()
    tried = [row for row in table if not (row.isolated_only and level == "none") and (has_python or not row.python)]
    verdicts: dict[str, tuple[str, str]] = {}
    subjects = {
        "shell": "hostile",
        "scripted": "caller:scripted",
        "provider": "caller:failing",
        "user": "asker:failing",
    }
    for needs, attempts in dict.fromkeys((row.needs, row.attempts) for row in tried):
        rows = [row for row in tried if (row.needs, row.attempts) == (needs, attempts)]
        verdicts |= _verdicts(rows, level, subjects[needs], timeout)
    for row in table:
        without = "not run: harms a machine without isolation" if row.isolated_only else "not run: no /usr/bin/python3"
        got, detail = verdicts.get(
            row.name, (without, "") if row not in tried else ("missing", "no trial was recorded")
        )
        yield HostileResult(
            level=level,
            tried=row.name,
            goal=row.goal,
            earned=row.expected(level),
            because=row.because,
            got=got,
            detail=detail,
        )


def _verdicts(rows: list[Behaviour], level: str, subject: str, timeout: float) -> dict[str, tuple[str, str]]:
    """Verdict and reason of each row, by its name."""
    with failing_provider() as port, tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        project = Path(folder)
        project.chmod(0o755)
        (project / "evals").mkdir()
        (project / "demeanor.toml").write_text(_CONFIG.format(port=port, attempts=rows[0].attempts))
        (project / "forbidden.yaml").write_text("rules:\n- say: Hello.\n")
        (project / "evals/eval_hostile.py").write_text(_evals(rows, timeout))
        command = [sys.executable, "-m", "demeanor", "run", "--sandbox", level, "--subject", subject, "--trials", "1"]
        try:
            done = subprocess.run(
                command,
                cwd=project,
                env=dict(os.environ),
                capture_output=True,
                text=True,
                check=False,
                timeout=_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(f"the hostile agents did not end within {_TIMEOUT:.0f} s at the level {level}") from None
        report = project / "results/latest/report.json"
        if not report.exists():
            raise UsageError(f"the hostile agents can't be run at the level {level}: {excerpt(done.stderr, lines=5)}")
        return dict(map(_verdict, json.loads(report.read_text())["cells"]))


def _evals(rows: list[Behaviour], timeout: float) -> str:
    """A file with one eval per row."""
    text = "from demeanor import ALWAYS_PASSES, Fixture, FixtureTool, Reply, ScriptedUser, UserReply, eval_test\n\n"
    for number, row in enumerate(rows):
        files = {"agent.py" if row.python else "agent.sh": row.program, "kept.txt": "kept\n"}
        limit = min(timeout, _ENDLESS_TIMEOUT) if row.endless else timeout
        arguments = f", {row.arguments}" if row.arguments else ""
        if row.rehearsal is not None:
            text += _REHEARSAL.format(number=number, text=row.rehearsal)
            arguments += f", passes_on=honest_{number}"
        text += _EVAL.format(
            name=row.name,
            goal=row.goal,
            files=files,
            number=number,
            check=row.check,
            limit=limit,
            arguments=arguments,
        )
    return text


def _verdict(cell: dict[str, Any]) -> tuple[str, tuple[str, str]]:
    """The name, verdict and reasons of a cell, which has one trial; its last attempt decides."""
    verdict = cell["records"][-1]["verdict"]
    reasons = [finding.get("reason", "") for finding in verdict.get("findings", ()) if finding["answer"] != "yes"]
    return cell["tally"]["eval"], (verdict["outcome"], "; ".join([*reasons, verdict.get("detail", "")]))
