"""An environment for Harbor behind walls of bubblewrap: one lodge per environment, and every command run in it."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult, SandboxBuildFailedError
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.task.config import NetworkPolicy

from demeanor.core.errors import BadInput, WorldError
from demeanor.core.sandbox_spec import Ceilings, Network
from demeanor.dockerfile.image import ImageSpec
from demeanor.dockerfile.planner import PATH
from demeanor.harbor_env.definition import read_definition
from demeanor.harbor_env.dockerfile_replay import replay
from demeanor.harbor_env.file_filter import filtered, not_excluded
from demeanor.harbor_env.socket_handoff import hand_door
from demeanor.sandboxes.host.bwrap_args import PORT
from demeanor.sandboxes.host.runtime import in_thread
from demeanor.sandboxes.levels.bubblewrap import means
from demeanor.sandboxes.persistent.client import PersistentSandbox
from demeanor.sandboxes.persistent.command import ExecRequest
from demeanor.sandboxes.persistent.factory import PersistentOptions, PersistentSandboxes

_MB = 2**20
_DISK = 4 * 2**30


@cache
def _sandboxes(ceilings: Ceilings) -> PersistentSandboxes:
    """One for all environments of this process that may use as much."""
    found = PersistentSandboxes(ceilings=ceilings)
    atexit.register(found.leave)
    return found


class BubblewrapEnvironment(BaseEnvironment):
    """Runs a task's commands behind walls. Keyword arguments (`--ek name=value`): see docs/harbor.md."""

    def __init__(
        self,
        *args: Any,
        rootfs: str | None = None,
        gateway: str | None = None,
        port: int | str = PORT,
        network: str = "gateway",
        reads: str = "",
        path: str = "",
        **kwargs: Any,
    ) -> None:
        if network not in ("gateway", "host"):
            raise BadInput(f"expected gateway or host, and {network!r} is neither", where="--ek", key="network")
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
        """Say beforehand where it can't be had."""
        try:
            means()
        except WorldError as error:
            raise SystemExit(f"demeanor: {error.detail}") from None

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """Memory has a limit; processors do not."""
        return EnvironmentResourceCapabilities(memory_limit=True)

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Nothing can be reached but the gateway, so every policy that asks for less than everything is kept."""
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
        """Note what can't be honoured. `start` refuses it: an error here would end the whole job, other tasks too."""
        try:
            targets = (str(mount.get("target")) for mount in self._mounts)
            self._image = read_definition(
                self.environment_dir, self.task_env_config.docker_image, self._rootfs, targets
            )
        except (BadInput, OSError, UnicodeDecodeError) as error:
            self._refusal = error

    @property
    def _network(self) -> Network:
        if self._host_network and self._network_is_public:
            return "host"
        verifies = "__verifier__" in self.session_id and not self.session_id.endswith("__env")
        return "gateway" if self._gateway and not verifies else "none"

    async def _apply_network_policy(self, network_policy: NetworkPolicy) -> None:
        """There is nothing to be changed: see `capabilities`."""

    async def start(self, force_build: bool) -> None:
        """Make the lodge, and take the steps of the Dockerfile in it."""
        if self._refusal is not None:
            raise SandboxBuildFailedError(str(self._refusal)) from self._refusal
        options = PersistentOptions(network=self._network, port=self._port, rootfs=self._rootfs, reads=self._reads)
        self._sandbox = sandbox = await _sandboxes(self._ceilings).open(options)
        try:
            if sandbox.door is not None and self._gateway:
                await in_thread(hand_door, self._gateway, sandbox.door)
            if self._image.base and self._rootfs is None:
                self.logger.debug(f"FROM {self._image.base}: the programs of this machine stand for it")
            await replay(self._image, self.environment_dir, sandbox, tell=self.logger.debug)
            if self._image.entrypoint:
                self._entrypoint = asyncio.create_task(self._enter(sandbox))
            await self.ensure_dirs(self._mount_targets(writable_only=True))
            await self._upload_environment_dir_after_start()
        except BadInput as error:
            await self.stop(delete=True)
            raise SandboxBuildFailedError(str(error)) from error
        except BaseException:
            await self.stop(delete=True)
            raise

    async def _enter(self, sandbox: PersistentSandbox) -> None:
        """Run the entry point as long as it goes on; it is given what Harbor has containers run."""
        done = await sandbox.run(self._errand((*self._image.entrypoint, "sh", "-c", "sleep infinity")))
        self.logger.warning(f"the ENTRYPOINT ended with exit code {done.code}: {done.stdout}{done.stderr}")

    @property
    def _ceilings(self) -> Ceilings:
        memory, storage = self._effective_memory_mb, self._effective_storage_mb
        usual = Ceilings()
        return Ceilings(
            memory=int(memory) * _MB if memory else usual.memory, disk=int(storage) * _MB if storage else _DISK
        )

    async def stop(self, delete: bool) -> None:
        """End everything in the lodge."""
        sandbox, self._sandbox = self._sandbox, None
        started, self._entrypoint = self._entrypoint, None
        try:
            if sandbox is not None:
                await sandbox.close()
        finally:
            if started is not None:
                await asyncio.gather(started, return_exceptions=True)  # it ended with the lodge

    @property
    def _there(self) -> PersistentSandbox:
        if self._sandbox is None:
            raise RuntimeError("the environment is not started")
        return self._sandbox

    def _errand(
        self,
        *argvs: tuple[str, ...],
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
    ) -> ExecRequest:
        told = {**self._image.env, **(self._merge_env(env) or {})}
        if self._path:
            told["PATH"] = f"{told.get('PATH', PATH)}:{self._path}"
        return ExecRequest(
            argvs=argvs,
            env=told,
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
        """Run a command with bash, or with sh where there is no bash."""
        who = self._resolve_user(user)
        argvs = (("bash", "-c", command), ("sh", "-c", command))
        request = self._errand(*argvs, cwd=cwd, env=env, user=None if who is None else str(who))
        done = await self._there.run(request, timeout=timeout_sec)
        if done.timed_out:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds")
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.code)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file in."""
        await self._there.put_file(Path(source_path), str(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy what is in a folder in."""
        await self._there.put_folder(Path(source_dir), str(target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out."""
        await self._there.fetch_file(str(source_path), Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy what is in a folder out; what can't be is told, and spoils nothing else."""
        self._tell_left_out(source_dir, await self._there.fetch_folder(str(source_dir), Path(target_dir)))

    async def download_dir_with_exclusions(
        self, *, source_dir: str, target_dir: Path | str, exclude: list[str]
    ) -> None:
        """The same without what fits a pattern."""
        wanted = not_excluded(exclude)
        self._tell_left_out(
            source_dir, await self._there.fetch_folder(str(source_dir), Path(target_dir), wanted=wanted)
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
        """The same for chosen files."""
        wanted = filtered(include, exclude, protect)
        self._tell_left_out(
            source_dir, await self._there.fetch_folder(str(source_dir), Path(target_dir), wanted=wanted)
        )

    def _tell_left_out(self, folder: str, left_out: list[str]) -> None:
        for line in left_out:
            self.logger.warning(f"left in the sandbox: {folder}/{line}")
