"""Where a task runs: our own environment on bubblewrap, or one of those that Harbor offers."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from demeanor.config.harbor import HarborRules
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.text import one_line

BUBBLEWRAP = "bubblewrap"
CLASS = "demeanor.harbor_env:BubblewrapEnvironment"
PORT = 11811
"""Where the gateway is found in an environment of ours; each of them has a network of its own."""

_ENGINES = ("docker", "podman")
_PATIENCE = 10.0

OFFERED: Mapping[str, tuple[str, ...]] = {
    "docker": ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"),
    "podman": ("CONTAINER_HOST", "DOCKER_HOST", "XDG_RUNTIME_DIR"),
    "daytona": ("DAYTONA_API_KEY", "DAYTONA_API_URL", "DAYTONA_TARGET", "DAYTONA_ORGANIZATION_ID"),
    "e2b": ("E2B_API_KEY", "E2B_DOMAIN"),
    "modal": ("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "MODAL_ENVIRONMENT"),
    "runloop": ("RUNLOOP_API_KEY",),
    "langsmith": ("LANGSMITH_API_KEY",),
    "ec2": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_PROFILE"),
    "gke": ("KUBECONFIG", "GOOGLE_APPLICATION_CREDENTIALS"),
    "ack": ("KUBECONFIG",),
    "openshift": ("KUBECONFIG",),
    "novita": ("NOVITA_API_KEY",),
    "apple-container": (),
    "singularity": (),
    "islo": ("ISLO_API_KEY",),
    "tensorlake": ("TENSORLAKE_API_KEY",),
    "cwsandbox": (),
    "use-computer": (),
    "cua-cloud": ("CUA_API_KEY",),
    "blaxel": ("BL_API_KEY", "BL_WORKSPACE"),
    "opensandbox": (),
    "beam": ("BEAM_TOKEN",),
    "skypilot": (),
    "hf-sandbox": ("HF_TOKEN",),
    "hyperbrowser": ("HYPERBROWSER_API_KEY",),
    "vercel": ("VERCEL_TOKEN", "VERCEL_TEAM_ID", "VERCEL_PROJECT_ID"),
    "runta": (),
    "prime": ("PRIME_API_KEY",),
    "kata": (),
    "mosaic": (),
    "smol": (),
}
"""What Harbor offers, and the variables of this machine that each may see; more by `harbor.pass_env`."""

_KUBE = {"KUBECONFIG": ".kube/config"}
_OF_THE_USER: Mapping[str, Mapping[str, str]] = {
    "docker": {"DOCKER_CONFIG": ".docker"},
    "podman": {"HOME": "", "XDG_DATA_HOME": ".local/share", "XDG_CONFIG_HOME": ".config"},
    "ec2": {"AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials", "AWS_CONFIG_FILE": ".aws/config"},
    "modal": {"MODAL_CONFIG_PATH": ".modal.toml"},
    **dict.fromkeys(("gke", "ack", "openshift"), _KUBE),
}
"""Harbor has a HOME of its own; what an engine keeps in the user's is named by variables, as far as it is there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPlace:
    """The environment of a run's tasks."""

    name: str
    """As with `--env`."""

    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Options of its class."""

    pass_env: tuple[str, ...] = ()
    """Variables of this machine that Harbor itself may see."""

    notes: tuple[str, ...] = ()
    """What a person should know of how it was chosen."""

    @property
    def ours(self) -> bool:
        """Whether it is our own, into which the gateway can be handed."""
        return self.name == BUBBLEWRAP

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What Harbor gets to see of this machine's variables, and where an engine finds the user's own files."""
        home = environ.get("HOME", "")
        own = {name: Path(home, path) for name, path in _OF_THE_USER.get(self.name, {}).items()} if home else {}
        passed = {name: environ[name] for name in (*self.pass_env, *own) if name in environ}
        return {**{name: str(path) for name, path in own.items() if path.exists()}, **passed}

    def config(self, **more: Any) -> dict[str, Any]:
        """Its part of Harbor's job configuration."""
        which = {"import_path": CLASS} if self.ours else {"import_path": self.name}
        which = {"type": self.name} if self.name in OFFERED else which
        return {**which, "delete": True, "kwargs": {**self.kwargs, **more}}


def task_place(asked: str | None, rules: HarborRules) -> TaskPlace:
    """Where tasks run: what is asked for, or what answers here; raises UsageError where it does not."""
    name = asked or rules.env
    notes: tuple[str, ...] = ()
    if name is None:
        name = next((engine for engine in _ENGINES if not engine_problem(engine)), BUBBLEWRAP)
        if name == BUBBLEWRAP:
            notes = (
                "Harbor can use no container engine here, so tasks are played in bubblewrap: on this machine's own"
                " system, not on their images (--env bubblewrap says that this is meant)",
            )
    elif name in _ENGINES and (problem := engine_problem(name)):
        raise UsageError(f"--env {name}: {problem}\n  → start it, or run without it: --env {BUBBLEWRAP}")
    elif name != BUBBLEWRAP and name not in OFFERED and ":" not in name:
        raise UnknownName("environment", name, (BUBBLEWRAP, *OFFERED))
    return TaskPlace(
        name=name, kwargs=rules.env_kwargs, pass_env=(*OFFERED.get(name, ()), *rules.pass_env), notes=notes
    )


@cache
def engine_problem(engine: str) -> str | None:
    """Why Harbor can't use a container engine here; None where it can. It needs the engine's `compose`, too."""
    program = shutil.which(engine)
    if program is None:
        return f"{engine} is not on PATH"
    for words in (("info",), ("compose", "ls")):
        asked = f"`{engine} {' '.join(words)}`"
        try:
            done = subprocess.run(
                [program, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{asked} gave no answer: {error}"
        if done.returncode != 0:
            return (
                f"{asked} failed: {one_line(done.stderr.decode('utf-8', 'replace').strip()) or 'it does not say why'}"
            )
    return None
