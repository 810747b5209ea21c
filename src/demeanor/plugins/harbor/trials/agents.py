"""The agents that can run tasks: their names in Harbor, and how each gets the address of its model.

Harbor installs an agent in the task's environment and starts it with its own adapter. Each adapter takes a base URL
from its own variables or options, so model traffic goes through the gateway here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from demeanor.core.values.subject import Subject
from demeanor.plugins.harbor.rules import HarborRules, TaskAgentRules

NATIVE = "demeanor.plugins.harbor.inside:NativeAgent"
ORACLE, NOP = "oracle", "nop"
WITHOUT_MODEL = (ORACLE, NOP)
"""The agents that need no model: the task's own solution, and doing nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskAgentSpec(TaskAgentRules):
    """How Harbor is configured for one agent: the settings of the configuration, and facts about Harbor's adapter."""

    inside: bool = True
    """Whether it runs in the task's environment, and not in Harbor's own process on this machine."""

    reachable: bool = True
    """Whether its base URL can be set."""

    fetched: bool = True
    """Whether Harbor's adapter downloads it in each trial, even if it is installed."""

    def settings_for(
        self, *, model: str, url: str, token: str, seed: str = ""
    ) -> tuple[str, dict[str, str], dict[str, Any]]:
        """Its model, variables and options, with placeholders filled in; without a URL, only those that need none."""
        if not url:
            return (
                self.model.replace("{model}", model),
                {},
                {key: self.kwargs[key] for key in _without_placeholders(self.kwargs)},
            )
        parts = urlsplit(url)
        values = {
            "{url}": url,
            "{origin}": f"{parts.scheme}://{parts.netloc}",
            "{path}": parts.path.strip("/"),
            "{token}": token,
        }
        values |= {"{model}": model, "{seed}": seed}
        env = {name: _filled(text, values) for name, text in self.env.items()}
        kwargs = {
            key: _filled(value, values) if isinstance(value, str) else value for key, value in self.kwargs.items()
        }
        return self.model.replace("{model}", model), env, kwargs


def _filled(text: str, values: Mapping[str, str]) -> str:
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def _without_placeholders(kwargs: Mapping[str, Any]) -> list[str]:
    """The options without placeholders."""
    return [key for key, value in kwargs.items() if not (isinstance(value, str) and "{" in value)]


_OPENAI = {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_BASE": "{url}/v1", "OPENAI_API_KEY": "{token}"}
_OPENAI_KEYS = ("OPENAI_API_KEY",)

AGENTS: Mapping[str, TaskAgentSpec] = {
    ORACLE: TaskAgentSpec(agent=ORACLE, fetched=False),
    NOP: TaskAgentSpec(agent=NOP, fetched=False),
    "native": TaskAgentSpec(
        agent=NATIVE,
        env={"OPENAI_API_KEY": "{token}"},
        kwargs={"base_url": "{url}/v1", "seed": "{seed}"},
        keys=_OPENAI_KEYS,
        output="native.jsonl",
        fetched=False,
    ),
    "claude-code": TaskAgentSpec(
        agent="claude-code",
        env={"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "{token}"},
        keys=("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
        output="claude-code.txt",
        fetched=False,
    ),
    "codex": TaskAgentSpec(agent="codex", env=_OPENAI, keys=_OPENAI_KEYS, output="codex.txt", fetched=False),
    "gemini-cli": TaskAgentSpec(
        agent="gemini-cli",
        model="google/{model}",
        env={"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "{token}"},
        keys=("GEMINI_API_KEY",),
    ),
    "cline": TaskAgentSpec(
        agent="cline-cli",
        model="openai:{model}",
        keys=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "CLINE_API_KEY", "API_KEY"),
        output="cline.txt",
        reachable=False,
    ),
    "opencode": TaskAgentSpec(
        agent="opencode", model="openai/{model}", env=_OPENAI, keys=_OPENAI_KEYS, output="opencode.txt"
    ),
    "goose": TaskAgentSpec(
        agent="goose",
        model="openai/{model}",
        env={
            "OPENAI_HOST": "{origin}",
            "OPENAI_BASE_PATH": "{path}/v1/chat/completions",
            "OPENAI_API_KEY": "{token}",
            "GOOSE_TELEMETRY_OFF": "1",
        },
        keys=_OPENAI_KEYS,
        output="goose.txt",
    ),
    "mini-swe-agent": TaskAgentSpec(agent="mini-swe-agent", model="openai/{model}", env=_OPENAI, keys=_OPENAI_KEYS),
    "aider": TaskAgentSpec(agent="aider", model="openai/openai/{model}", env=_OPENAI, keys=_OPENAI_KEYS),
    "qwen-code": TaskAgentSpec(agent="qwen-coder", env=_OPENAI, keys=_OPENAI_KEYS),
    "pi": TaskAgentSpec(
        agent="pi",
        model="openai/{model}",
        env=_OPENAI,
        kwargs={"model_api": "openai-completions"},
        keys=_OPENAI_KEYS,
    ),
    "copilot": TaskAgentSpec(
        agent="copilot-cli",
        keys=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
        output="copilot-cli.txt",
        reachable=False,
    ),
    "kimi-code": TaskAgentSpec(
        agent="kimi-code",
        env={"KIMI_MODEL_BASE_URL": "{url}/v1", "KIMI_MODEL_API_KEY": "{token}"},
        keys=("KIMI_MODEL_API_KEY",),
        output="kimi-code.txt",
    ),
    "vibe": TaskAgentSpec(
        agent="vibe",
        env={"VIBE_BACKEND": "generic", "VIBE_API_BASE": "{url}/v1", "OPENAI_API_KEY": "{token}"},
        keys=_OPENAI_KEYS,
        output="vibe.txt",
    ),
    "openhands": TaskAgentSpec(
        agent="openhands",
        model="openai/{model}",
        env={"LLM_BASE_URL": "{url}/v1", "LLM_API_KEY": "{token}"},
        keys=("LLM_API_KEY",),
        output="openhands.txt",
    ),
    "terminus-2": TaskAgentSpec(
        agent="terminus-2",
        model="openai/{model}",
        kwargs={"api_base": "{url}/v1"},
        env={"OPENAI_API_KEY": "{token}"},
        keys=_OPENAI_KEYS,
        inside=False,
        fetched=False,
    ),
}
"""The known agents by our names, and how Harbor is configured for each."""


def only_for_tasks(rules: HarborRules) -> tuple[str, ...]:
    """The agents that can run tasks only."""
    return (*WITHOUT_MODEL, "terminus-2", *rules.agents)


def task_agent_spec(subject: Subject, rules: HarborRules) -> TaskAgentSpec | None:
    """How Harbor is configured for a subject's agent; None for an unknown one. The configuration takes precedence."""
    if own := rules.agents.get(subject.agent):
        return _from_rules(own)
    return AGENTS.get(str(subject.settings.get("adapter", subject.agent)))


def _from_rules(rules: TaskAgentRules) -> TaskAgentSpec:
    texts = (*rules.env.values(), *(value for value in rules.kwargs.values() if isinstance(value, str)))
    return TaskAgentSpec(
        **{field.name: getattr(rules, field.name) for field in fields(rules)},
        reachable=any("{url}" in text or "{origin}" in text for text in texts),
        fetched=False,  # unknown; if a download fails, the trial is void
    )
