"""Demeanor's native agent (agents/native_agent/) as a Harbor agent: copied into the environment and run there."""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

import demeanor.agents.native_agent
from demeanor._version import __version__
from demeanor.sandboxes import PORT

_FOLDER = "/installed-agent/demeanor"
_MIN_PYTHON = (3, 11)
_SHARED = ("approval", "steering", "user_channel")
"""Modules of core/ that the native agent imports."""


class NativeAgent(BaseAgent):
    """The native agent. Keyword arguments (`--ak name=value`): see docs/harbor.md."""

    def __init__(
        self,
        *args: Any,
        base_url: str = f"http://127.0.0.1:{PORT}/v1",
        token: str = "",
        max_turns: int | str = 25,
        seed: int | str | None = None,
        python: str = "python3",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._base_url, self._python = base_url, python
        self._token = token or self._get_env("OPENAI_API_KEY") or "none"
        self._max_turns, self._seed = int(max_turns), None if seed is None else int(seed)

    @staticmethod
    def name() -> str:
        """Its name."""
        return "demeanor-native"

    def version(self) -> str:
        """The version of Demeanor."""
        return __version__

    async def setup(self, environment: BaseEnvironment) -> None:
        """Copy it into the environment; raises RuntimeError when there is no suitable Python."""
        check = f"import sys; sys.exit(sys.version_info < {_MIN_PYTHON})"
        result = await environment.exec(f"{shlex.quote(self._python)} -c {shlex.quote(check)}")
        if result.return_code != 0:
            version = ".".join(map(str, _MIN_PYTHON))
            raise RuntimeError(f"the native agent needs Python {version} in the environment as {self._python!r}")
        with tempfile.TemporaryDirectory() as temporary:
            package = Path(temporary, "demeanor")
            source = Path(demeanor.agents.native_agent.__file__).parents[2]
            program = sorted(source.glob("agents/native_agent/*.py"))
            for file in (*program, *(source / f"core/values/{name}.py" for name in _SHARED)):
                target = package / file.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read_bytes())
            for folder in (".", "agents", "core", "core/values"):
                (package / folder / "__init__.py").touch()
            await environment.upload_dir(package, _FOLDER)

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Run it; its log is stored with Harbor's logs."""
        logs = self.environment_logs_dir
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"prompts": [instruction]}, file)
            file.flush()
            await environment.upload_file(file.name, f"{_FOLDER}/task.json")
        options = {"--task": f"{_FOLDER}/task.json", "--model": self._parsed_model_name or "model"}
        options |= {"--max-turns": str(self._max_turns)} | ({} if self._seed is None else {"--seed": str(self._seed)})
        argv = (
            self._python,
            "-P",
            "-s",
            "-S",
            "-m",
            "demeanor.agents.native_agent",
            *(x for pair in options.items() for x in pair),
        )
        env = {"OPENAI_BASE_URL": self._base_url, "OPENAI_API_KEY": self._token, "PYTHONDONTWRITEBYTECODE": "1"}
        result = await environment.exec(
            f"{shlex.join(argv)} > {logs}/native.jsonl 2> {logs}/native-stderr.txt",
            env={**env, "PYTHONPATH": str(Path(_FOLDER).parent)},
        )
        if result.return_code not in (0, 1):
            raise NativeAgentFailed(f"the native agent exited with {result.return_code}: see agent/native.jsonl")


class NativeAgentFailed(RuntimeError):
    """The agent could not be started (2), or its model failed (3)."""
