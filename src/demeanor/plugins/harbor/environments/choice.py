"""The environment that tasks run in: ours on bubblewrap, or one that Harbor has."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from demeanor.core.container_hints import podman_hint
from demeanor.core.text.wording import one_line
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.plugins.harbor.rules import HarborRules

BUBBLEWRAP = "bubblewrap"
CLASS = "demeanor.plugins.harbor.inside:BubblewrapEnvironment"
PORT = 11811
"""The gateway's port in the bubblewrap environment, which has a private network."""

_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
BUILD_VARIABLES = (
    *_PROXIES, *(name.upper() for name in _PROXIES), "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST",
    "UV_INDEX_URL", "UV_DEFAULT_INDEX", "npm_config_registry", "NPM_CONFIG_REGISTRY", "GOPROXY",
)  # fmt: skip
"""Variables of this machine that the steps of a Dockerfile get: where package managers download from. Proxies, as with
`docker build`, and the package mirrors of pip, uv, npm and go."""

_LOCAL = "file:"
_ENGINES = ("docker", "podman")
_OURS = (*BUILD_VARIABLES, "SSL_CERT_FILE")
_TIMEOUT = 60.0
_NO_PROGRAM = 127
"""The exit code of an engine that has started a container without the program that it is to run."""

_PODMAN_COMPOSE = "podman-compose"

HARBOR_ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "docker": ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"),
    "podman": (
        "CONTAINER_HOST",
        "DOCKER_HOST",
        "XDG_RUNTIME_DIR",
        "CONTAINERS_CONF",
        "CONTAINERS_STORAGE_CONF",
        "CONTAINERS_REGISTRIES_CONF",
        "REGISTRY_AUTH_FILE",
    ),
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
"""Harbor's environments, and the variables of this machine that each may see; more with `harbor.pass_env`."""

_KUBE = {"KUBECONFIG": ".kube/config"}
_USER_FILES: Mapping[str, Mapping[str, str]] = {
    "docker": {"DOCKER_CONFIG": ".docker"},
    "podman": {"HOME": "", "XDG_DATA_HOME": ".local/share", "XDG_CONFIG_HOME": ".config"},
    "ec2": {"AWS_SHARED_CREDENTIALS_FILE": ".aws/credentials", "AWS_CONFIG_FILE": ".aws/config"},
    "modal": {"MODAL_CONFIG_PATH": ".modal.toml"},
    **dict.fromkeys(("gke", "ack", "openshift"), _KUBE),
}
"""Harbor has a private HOME; files in the user's HOME that an engine needs are passed by variables, if they exist."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentChoice:
    """The environment that a run's tasks run in."""

    name: str
    """Its name, as in `--env`."""

    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Options of its class."""

    pass_env: tuple[str, ...] = ()
    """Variables of this machine that Harbor itself may see."""

    notes: tuple[str, ...] = ()
    """Messages for the user about how it was chosen."""

    @property
    def ours(self) -> bool:
        """Whether it is the bubblewrap environment, which can send its listener to the gateway."""
        return self.name == BUBBLEWRAP

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The variables of this machine that Harbor gets, and the paths of the user's files that an engine needs."""
        home = environ.get("HOME", "")
        own = {name: Path(home, path) for name, path in _USER_FILES.get(self.name, {}).items()} if home else {}
        passed = {name: environ[name] for name in (*self.pass_env, *own) if name in environ}
        return {**{name: str(path) for name, path in own.items() if path.exists()}, **passed}

    def config(self, **more: Any) -> dict[str, Any]:
        """Its part of Harbor's job configuration."""
        which = {"import_path": CLASS} if self.ours else {"import_path": self.name}
        which = {"type": self.name} if self.name in HARBOR_ENVIRONMENTS else which
        return {**which, "delete": True, "kwargs": {**self.kwargs, **more}}


def task_environment(asked: str | None, rules: HarborRules) -> EnvironmentChoice:
    """The environment that is asked for, or the first that works; raises UsageError when the one asked for does not."""
    name = asked or rules.env
    notes: tuple[str, ...] = ()
    if name is None:
        name = next((engine for engine in _ENGINES if not engine_problem(engine)), BUBBLEWRAP)
        if name == BUBBLEWRAP:
            notes = (
                "No container engine works with Harbor here, so tasks run in bubblewrap"
                " (use --env bubblewrap to choose this explicitly)",
            )
    elif name in _ENGINES and (problem := engine_problem(name)):
        raise UsageError(f"--env {name}: {problem}\n  → or use --env {BUBBLEWRAP}")
    elif name != BUBBLEWRAP and name not in HARBOR_ENVIRONMENTS and ":" not in name:
        raise UnknownName("environment", name, (BUBBLEWRAP, *HARBOR_ENVIRONMENTS))
    ours = {"images": rules.images, "build_network": rules.build_network} if name == BUBBLEWRAP else {}
    return EnvironmentChoice(
        name=name,
        kwargs={**ours, **rules.env_kwargs},
        pass_env=(*HARBOR_ENVIRONMENTS.get(name, ()), *(_OURS if name == BUBBLEWRAP else ()), *rules.pass_env),
        notes=notes,
    )


@cache
def engine_problem(engine: str) -> str | None:
    """Why Harbor can't use a container engine here, and the remedy; None if it can. It needs the engine's `compose`
    command, too; for podman also podman-compose will do, as for Harbor.
    """
    if shutil.which(engine) is None:
        return f"{engine} is not on PATH\n  → install {engine}"
    if problem := _failure(engine, "info"):
        return problem
    if engine == "podman" and (problem := _start_failure()):
        return problem
    if engine != "podman" or "--detach" in _output(engine, "compose", "up", "--help")[1]:
        return _failure(engine, "compose", "ls")
    if shutil.which(_PODMAN_COMPOSE) is None:
        return (
            f"neither `podman compose` nor {_PODMAN_COMPOSE} works, which Harbor needs\n  → pip install podman-compose"
        )
    if "--in-pod" not in _output(_PODMAN_COMPOSE, "--help")[1]:
        return f"{_PODMAN_COMPOSE} is too old: it has no option --in-pod\n  → pip install podman-compose"
    return None


def _start_failure() -> str | None:
    """Why podman can't start containers, and the remedy; None if it can, or if the remedy is not known: then each trial
    says what is wrong. The container has an empty root file system, so it needs no image, and has no program to run.
    """
    with tempfile.TemporaryDirectory(prefix=temp_prefix(), ignore_cleanup_errors=True) as folder:
        words = ("podman", "run", "--rm", "--network", "none", "--rootfs", folder, "/none")
        code, output = _output(*words, cwd=folder)  # podman's monitor may leave files in the working directory
    hint = podman_hint(output) if code != _NO_PROGRAM else None
    return f"podman can't start containers: {one_line(output.strip(), width=300)}\n  → {hint}" if hint else None


def _failure(engine: str, *words: str) -> str | None:
    """Why a command of an engine fails, and the remedy; None if it does not fail."""
    code, output = _output(engine, *words)
    if code == 0:
        return None
    hint = (podman_hint(output) if engine == "podman" else None) or f"start {engine}"
    return f"`{engine} {' '.join(words)}` failed: {one_line(output.strip()) or 'no error message'}\n  → {hint}"


def _output(*command: str, cwd: str | None = None) -> tuple[int, str]:
    """The exit code and the output of a command."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=False, cwd=cwd
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return done.returncode, (done.stderr + done.stdout).decode("utf-8", "replace")


def build_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Those that are set, without folders of this machine. They are not part of the image, and say nothing about what
    is installed, so a result in the cache does not depend on them.
    """
    return {name: environ[name] for name in BUILD_VARIABLES if environ.get(name) and _LOCAL not in environ[name]}
