"""What a hostile agent is: a program, what it wants, and the verdict that it earns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["pass", "void", "fail"]

DONE = 'assert rig.workspace["out.txt"].text == "done"'
"""The check of most agents."""

CLIENT = """\
import http.client, os, socket, urllib.parse
url = urllib.parse.urlsplit(os.environ["BASE_URL"])
head = {"Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/json"}
def ask(body, length=None):
    link = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    try:
        link.request("POST", url.path + "/v1/chat/completions", body, head)
        return link.getresponse().status
    except OSError:
        return 0
def chat(model="scripted", text="Say hello."):
    return '{"model": "%s", "messages": [{"role": "user", "content": "%s"}]}' % (model, text)
def work():
    open("out.txt", "w").write("done")
"""
"""The beginning of a program that sends requests to the gateway."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Behaviour:
    """One hostile agent."""

    name: str
    """What it does; also the name of its eval."""

    goal: str
    """What it wants."""

    program: str
    """A shell script, or a Python program if it sends requests to the gateway."""

    outcome: Outcome
    """The verdict that its trial must have."""

    because: str = ""
    """A regular expression that matches the reason of a failure, so that it does not fail for another reason."""

    at: Mapping[str, Outcome] = field(default_factory=dict)
    """The verdicts at levels where another one is right."""

    check: str = DONE
    """What its eval asserts."""

    rehearsal: str | None = None
    """What an honest agent writes to out.txt, where that shows that a crash of the check is the agent's fault."""

    arguments: str = ""
    """Further arguments of its eval."""

    needs: Literal["shell", "scripted", "provider", "user"] = "shell"
    """What it needs: a shell, or Python and a model, which is scripted or that of a provider that fails on request;
    `user` is the same with a user whom it can ask."""

    attempts: int = 1
    """How many attempts its trial has."""

    endless: bool = False
    """Whether it never ends by itself, so that a short time limit shows as much as a long one."""

    isolated_only: bool = False
    """Whether it would harm the machine without isolation, so that it is not run at the level `none`."""

    @property
    def python(self) -> bool:
        """Whether it is a Python program."""
        return self.needs != "shell"

    def expected(self, level: str) -> Outcome:
        """The required verdict at a level."""
        return self.at.get(level, self.outcome)
