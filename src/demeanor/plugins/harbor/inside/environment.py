"""A Harbor environment on bubblewrap: one persistent sandbox per environment, in which every command runs."""

from __future__ import annotations

import asyncio
import atexit
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult, SandboxBuildFailedError
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.task.config import NetworkPolicy

from demeanor.core.values.errors import BadInput, UsageError, WorldError
from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.core.values.verdict import VoidCause
from demeanor.plugins.harbor.dockerfile.image import ImageSpec
from demeanor.plugins.harbor.dockerfile.planner import PATH
from demeanor.plugins.harbor.environments.base_image import BaseImages
from demeanor.plugins.harbor.environments.choice import build_variables
from demeanor.plugins.harbor.environments.definition import (
    ONLY_ROOT,
    check_definition,
    check_users,
    is_root,
    read_definition,
)
from demeanor.plugins.harbor.inside.dockerfile_replay import Build, StepFailed, replay
from demeanor.plugins.harbor.inside.image_build import build_root
from demeanor.sandboxes import PORT, certificate_variables, in_thread
from demeanor.sandboxes.levels import find_bwrap
from demeanor.sandboxes.persistent import ExecRequest, PersistentOptions, PersistentSandbox, PersistentSandboxes

_MB = 2**20
_DISK = 4 * 2**30
_TIMEOUT = 30.0


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadInput(f"expected {' or '.join(choices)}, not {value!r}", where="--ek", key=name)


@cache
def _sandboxes(ceilings: Ceilings) -> PersistentSandboxes:
    """One factory for all environments of this process with the same limits."""
    factory = PersistentSandboxes(ceilings=ceilings)
    atexit.register(factory.close)
    return factory


class SandboxUnsupportedError(SandboxBuildFailedError):
    """The task needs what this environment does not support. Demeanor knows the exception by its name."""


class SandboxStepFailedError(SandboxBuildFailedError):
    """A step of the Dockerfile failed, and would fail in every attempt. Demeanor knows the exception by its name."""


class BubblewrapEnvironment(BaseEnvironment):
    """Runs a task's commands in a bubblewrap sandbox. Its arguments (`--ek name=value`): docs/harbor.md."""

    def __init__(
        self,
        *args: Any,
        rootfs: str | None = None,
        gateway: str | None = None,
        port: int | str = PORT,
        network: str = "gateway",
        reads: str = "",
        path: str = "",
        images: str = "cached",
        image_cache: str = "",
        build_network: str = "host",
        **kwargs: Any,
    ) -> None:
        _check_choice("network", network, ("gateway", "host"))
        _check_choice("build_network", build_network, ("host", "none"))
        self._images = BaseImages(images, image_cache, os.environ)
        self._build_network: Network = "host" if build_network == "host" else "none"
        self._locks = ExitStack()
        self._gateway = gateway
        self._port = int(port)
        self._host_network = network == "host"
        self._rootfs = Path(rootfs).expanduser().resolve() if rootfs else None
        self._reads = tuple(filter(None, reads.split(":")))
        self._path = path
        self._image = ImageSpec(base="")
        self._refusal: Exception | None = None
        self._sandbox: PersistentSandbox | None = None
        self._entrypoint: asyncio.Task[None] | None = None
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """Its name."""
        return "bubblewrap"

    @classmethod
    def preflight(cls) -> None:
        """Exit with a message when bubblewrap is missing."""
        try:
            find_bwrap()
        except WorldError as error:
            raise SystemExit(f"demeanor: {error.detail}") from None

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """Memory can be limited, CPUs can't."""
        return EnvironmentResourceCapabilities(memory_limit=True)

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Only the gateway can be reached, so every policy other than full access is honoured."""
        narrow = not self._host_network
        return EnvironmentCapabilities(
            disable_internet=True,
            network_allowlist=narrow,
            network_allowlist_hostnames=narrow,
            network_allowlist_wildcard_hostnames=narrow,
            network_allowlist_ipv4_addresses=narrow,
            network_allowlist_ipv6_addresses=narrow,
            network_allowlist_ipv4_cidrs=narrow,
            network_allowlist_ipv6_cidrs=narrow,
            dynamic_network_policy=narrow,
        )

    def _validate_definition(self) -> None:
        """Record what is not supported; `start` raises it. An error here would end the whole job, other tasks too."""
        try:
            check_definition(self.environment_dir, self._rootfs, (str(mount.get("target")) for mount in self._mounts))
            self._image = read_definition(self.environment_dir, self.task_env_config.docker_image)
            check_users(self._image, self.environment_dir)
        except (BadInput, OSError, UnicodeDecodeError) as error:
            self._refusal = error

    @property
    def _network(self) -> Network:
        if self._host_network and self._network_is_public:
            return "host"
        verifies = "__verifier__" in self.session_id and not self.session_id.endswith("__env")
        return "gateway" if self._gateway and not verifies else "none"

    async def _apply_network_policy(self, network_policy: NetworkPolicy) -> None:
        """Do nothing: every policy is honoured already, see `capabilities`."""

    async def start(self, force_build: bool) -> None:
        """Create the sandbox, and run the steps of the Dockerfile in it."""
        if self._refusal is not None:
            raise SandboxUnsupportedError(str(self._refusal)) from self._refusal
        try:
            built = await self._build()
            self._sandbox = sandbox = await self._open(self._network, built or self._rootfs)
            if sandbox.listener is not None and self._gateway:
                await in_thread(send_listener, self._gateway, sandbox.listener)
            if built is None:
                await replay(self._steps(self._variables(self._network)), sandbox)
            if self._image.entrypoint:
                self._entrypoint = asyncio.create_task(self._run_entrypoint(sandbox))
            await self.ensure_dirs(self._mount_targets(writable_only=True))
            await self._upload_environment_dir_after_start()
        except StepFailed as error:
            await self.stop(delete=True)
            raise SandboxStepFailedError(str(error)) from error
        except UsageError as error:
            await self.stop(delete=True)
            raise SandboxBuildFailedError(str(error)) from error
        except BaseException:
            await self.stop(delete=True)
            raise

    async def _open(self, network: Network, rootfs: Path | None) -> PersistentSandbox:
        options = PersistentOptions(network=network, port=self._port, rootfs=rootfs, reads=self._reads)
        return await _sandboxes(self._ceilings).open(options)

    async def _build(self) -> Path | None:
        """The root file system that the Dockerfile describes; None if its steps are to be run in the environment."""
        if self._rootfs is not None:
            return None
        dockerfile = (self.environment_dir / "Dockerfile").exists()
        base = await in_thread(lambda: self._images.find(self._image.base, needed=not dockerfile))
        if base is None:
            self.logger.debug(f"FROM {self._image.base}: using the programs of this machine instead")
            return None
        try:
            self._image = read_definition(self.environment_dir, self.task_env_config.docker_image, base.spec)
            check_users(self._image, self.environment_dir)
        except BadInput as error:
            raise SandboxUnsupportedError(str(error)) from error
        key = await build_root(
            self._steps({**self._variables(self._build_network), **build_variables(os.environ)}),
            base.image,
            self._images.cache,
            open_sandbox=lambda root: self._open(self._build_network, root),
        )
        return self._locks.enter_context(self._images.cache.in_use(key))

    def _steps(self, variables: Mapping[str, str]) -> Build:
        return Build(image=self._image, context=self.environment_dir, log=self.logger.debug, variables=dict(variables))

    @staticmethod
    def _variables(network: Network) -> Mapping[str, str]:
        """The variables by which programs find the certificates of this machine, if they use its network."""
        return certificate_variables() if network == "host" else {}

    async def _run_entrypoint(self, sandbox: PersistentSandbox) -> None:
        """Run the entry point in the background, with the command that Harbor gives to containers."""
        done = await sandbox.run(self._request((*self._image.entrypoint, "sh", "-c", "sleep infinity")))
        self.logger.warning(f"the ENTRYPOINT exited with {done.code}: {done.stdout}{done.stderr}")

    @property
    def _ceilings(self) -> Ceilings:
        memory, storage = self._effective_memory_mb, self._effective_storage_mb
        default = Ceilings()
        return Ceilings(
            memory=int(memory) * _MB if memory else default.memory, disk=int(storage) * _MB if storage else _DISK
        )

    async def stop(self, delete: bool) -> None:
        """Kill all processes in the sandbox."""
        sandbox, self._sandbox = self._sandbox, None
        entrypoint, self._entrypoint = self._entrypoint, None
        try:
            if sandbox is not None:
                await sandbox.close()
        finally:
            self._locks.close()
            if entrypoint is not None:
                await asyncio.gather(entrypoint, return_exceptions=True)  # it ended with the sandbox

    @property
    def _running(self) -> PersistentSandbox:
        if self._sandbox is None:
            raise RuntimeError("the environment is not started")
        return self._sandbox

    def _request(
        self,
        *argvs: tuple[str, ...],
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
    ) -> ExecRequest:
        variables = {**self._variables(self._network), **self._image.env, **(self._merge_env(env) or {})}
        if self._path:
            variables["PATH"] = f"{variables.get('PATH', PATH)}:{self._path}"
        return ExecRequest(
            argvs=argvs,
            env=variables,
            cwd=cwd or self.task_env_config.workdir or self._image.workdir,
            user=user or self._image.user,
        )

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command with bash, or with sh if there is no bash."""
        resolved = self._resolve_user(user)
        if self._running.users == "one" and resolved is not None and not is_root(str(resolved)):
            raise SandboxUnsupportedError(f"user {resolved}: {ONLY_ROOT}")
        argvs = (("bash", "-c", command), ("sh", "-c", command))
        request = self._request(*argvs, cwd=cwd, env=env, user=None if resolved is None else str(resolved))
        done = await self._running.run(request, timeout=timeout_sec)
        if done.timed_out:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.code)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file into the sandbox."""
        await self._running.put_file(Path(source_path), str(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy the content of a folder into the sandbox."""
        await self._running.put_folder(Path(source_dir), str(target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out of the sandbox."""
        await self._running.fetch_file(str(source_path), Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy the content of a folder out of the sandbox; what can't be copied is logged."""
        self._log_skipped(source_dir, await self._running.fetch_folder(str(source_dir), Path(target_dir)))

    async def download_dir_with_exclusions(
        self, *, source_dir: str, target_dir: Path | str, exclude: list[str]
    ) -> None:
        """The same, without files that match a pattern."""
        accepts = not_excluded(exclude)
        self._log_skipped(
            source_dir, await self._running.fetch_folder(str(source_dir), Path(target_dir), accepts=accepts)
        )

    async def download_dir_filtered(
        self,
        *,
        source_dir: str,
        target_dir: Path | str,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        protect: Sequence[str] | None = None,
    ) -> None:
        """The same for the files that are chosen by patterns."""
        accepts = filtered(include, exclude, protect)
        self._log_skipped(
            source_dir, await self._running.fetch_folder(str(source_dir), Path(target_dir), accepts=accepts)
        )

    def _log_skipped(self, folder: str, skipped: list[str]) -> None:
        for line in skipped:
            self.logger.warning(f"not copied out of the sandbox: {folder}/{line}")


def not_excluded(exclude: Sequence[str]) -> Callable[[str, bool], bool]:
    """Like `tar --exclude`: a pattern matches a path, its end after any slash, or a folder that contains it."""

    def accepts(name: str, folder: bool) -> bool:
        parts = name.split("/")
        return not any(
            fnmatchcase("/".join(parts[start:stop]), pattern.removeprefix("./").rstrip("/"))
            for pattern in exclude
            for start in range(len(parts))
            for stop in range(start + 1, len(parts) + 1)
        )

    return accepts


def filtered(
    include: Sequence[str] | None, exclude: Sequence[str] | None, protect: Sequence[str] | None
) -> Callable[[str, bool], bool]:
    """Files that match `include` (all if it is None) and not `exclude`; the files in `protect` in any case."""

    def accepts(name: str, folder: bool) -> bool:
        if folder or name in (protect or ()):
            return True
        chosen = include is None or any(fnmatchcase(name, pattern) for pattern in include)
        return chosen and not any(fnmatchcase(name, pattern) for pattern in exclude or ())

    return accepts


def send_listener(gateway: str, listener: socket.socket) -> None:
    """Send the listener to the process that serves the gateway's session; raises WorldError if it is refused.

    The protocol: connect to a unix stream socket, send one byte with the listener (SCM_RIGHTS), wait for one byte.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT)
            connection.connect(gateway)
            socket.send_fds(connection, [b"\n"], [listener.fileno()])
            accepted = connection.recv(1)
    except OSError as error:
        raise WorldError(VoidCause.HARNESS, f"the gateway at {gateway} can't be reached: {error}") from None
    if not accepted:
        raise WorldError(VoidCause.HARNESS, f"the gateway at {gateway} did not accept the sandbox's listener")
