"""What an agent is made of, for the fingerprint of its subject: its program and the files of the project that it reads.

An installed agent is known by its version. A program of the project is known by its content and that of the files and
folders that it may read, by the lock files of the project, and where these are too many by the commit and the changes
since. An environment is known by the packages in it. What can't be known is said to be unknown, so that nobody takes an
edited agent for an unchanged one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, file_digest
from pathlib import Path
from shutil import which

from demeanor.agents.environments import PACKAGE_ROOT, environment_of
from demeanor.config import Config
from demeanor.core.values.agent import Agent, Orders
from demeanor.core.values.fingerprints import UNKNOWN
from demeanor.vcs import CACHES, tree_state

_LOCK_FILES = (
    "uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "requirements.txt", "package-lock.json", "pnpm-lock.yaml",
    "yarn.lock", "bun.lock", "Cargo.lock", "go.sum",
)  # fmt: skip
_INSTALLED_LOCK = ".package-lock.json"
_LEFT_OUT = {*CACHES, ".git", ".demeanor"}
_MOST_FILES = 5_000
_MOST_BYTES = 64 * 2**20
_ELF = b"\x7fELF"
_LAUNCHER = re.compile(
    r"(ba|da|z|k|fi)?sh|python[\d.]*|node(js)?|deno|bunx?|npx|npm|pnpm|yarn|uvx?|pipx|poetry|ruby|perl|php|java|dotnet"
    r"|env|make|docker|podman|ssh|timeout|nice|sudo"
)
_INLINE = re.compile(r"-[a-z]*c")
_WORD = re.compile(r"[\w./+-]+")


@dataclass(kw_only=True)
class AgentFiles:
    """Tells what the agents of a run are made of; each is looked at once."""

    root: Path
    """The project."""

    apart: frozenset[Path]
    """What belongs to no agent: evals, results, cassettes, the configuration, which is known as settings."""

    _known: dict[tuple[str, ...], str] = field(default_factory=dict)

    def identity(self, agent: Agent, orders: Orders, *, confined: bool) -> str:
        """Twelve hex digits, UNKNOWN, or nothing if the version of the agent says all. An agent that is not `confined`
        may read more than it declares."""
        words = (*orders.program, *(word for launch in orders.launches for word in (*launch.argv, *launch.reads)))
        paths = tuple(dict.fromkeys(word for word in words if word.startswith("/")))
        key = (agent.name, *paths)
        if key not in self._known:
            try:
                self._known[key] = self._identity(agent, words, paths, confined=confined)
            except OSError:
                self._known[key] = UNKNOWN
        return self._known[key]

    def _identity(self, agent: Agent, words: Sequence[str], paths: Iterable[str], *, confined: bool) -> str:
        existing = [path for path in map(Path, paths) if path.exists()]
        own = [path for path in existing if path.resolve().is_relative_to(self.root)]
        if own:
            read = self._digest(own)
            return read if confined or any(map(Path.is_dir, own)) else _short(f"{read} {self._tree()}".encode())
        if agent.version() is not None or not existing:
            return ""
        program = existing[0]
        if str(program).startswith(PACKAGE_ROOT):
            return ""
        if environment := environment_of(program):
            return UNKNOWN if _has_links(environment) else _short(_packages(environment))
        return UNKNOWN if _runs_others(words) or not _is_binary(program) else _short(program.read_bytes())

    def _digest(self, own: Iterable[Path]) -> str:
        """The content of files and folders of the project, and of its lock files."""
        digest, files, size = blake2b(digest_size=6), 0, 0
        for path in sorted({*own, *(self.root / name for name in _LOCK_FILES)}):
            for file, content in self._contents(path):
                files, size = files + 1, size + (file.stat().st_size if content is None else len(content))
                if files > _MOST_FILES or size > _MOST_BYTES:
                    return self._tree() or UNKNOWN
                digest.update(f"{file.relative_to(self.root)}\0".encode("utf-8", "surrogatepass"))
                digest.update(_content(file) if content is None else content)
        return digest.hexdigest()

    def _tree(self) -> str:
        """The commit of the project and the changes since; empty outside a repository."""
        state = tree_state(self.root, leave_out=self.apart)
        return "" if state is None else _short(state.sources.encode())

    def _contents(self, path: Path) -> Iterator[tuple[Path, bytes | None]]:
        """The files below a path; of an environment or of installed packages, what tells their versions."""
        inside = path if path.is_relative_to(self.root) else path.resolve()
        if not inside.is_relative_to(self.root) or self.apart & {inside, *inside.parents} or path.name in _LEFT_OUT:
            return
        if path.is_file():
            yield inside, None
        elif (path / "pyvenv.cfg").is_file():
            yield inside, _packages(path)
        elif path.name == "node_modules" and (path / _INSTALLED_LOCK).is_file():
            yield inside / _INSTALLED_LOCK, None
        elif path.is_dir() and not path.is_symlink():
            for entry in sorted(path.iterdir()):
                yield from self._contents(entry)


def project_agent_files(config: Config) -> AgentFiles:
    """For the agents of a project."""
    root = config.root.resolve()
    names = (*config.paths, config.results, config.cassettes, "promotions.json", config.file or "")
    return AgentFiles(root=root, apart=frozenset((root / name).resolve() for name in names if root / name != root))


def _content(file: Path) -> bytes:
    with file.open("rb") as opened:
        return file_digest(opened, lambda: blake2b(digest_size=16)).digest() + bytes([os.access(file, os.X_OK)])


def _packages(environment: Path) -> bytes:
    """The names and versions of the packages in a Python environment."""
    paths = environment.glob("lib/python*/site-packages/*.dist-info")
    return "\n".join(sorted(path.name for path in paths)).encode()


def _has_links(environment: Path) -> bool:
    """Whether a package in a Python environment is a link to its sources, which change without its version."""
    noted = environment.glob("lib/python*/site-packages/*.dist-info/direct_url.json")
    return any('"editable": true' in path.read_text("utf-8", "replace") for path in noted)


def _runs_others(words: Sequence[str]) -> bool:
    """Whether a program only starts others, of which nothing is known. The code that a shell is told to run is known as
    settings; it is enough if it names no other such program, nor a script."""
    program, option, code = (*words, "", "")[:3]
    if not _LAUNCHER.fullmatch(Path(program).name):
        return False
    if not Path(program).name.endswith("sh") or not _INLINE.fullmatch(option):
        return True
    named = filter(None, map(which, _WORD.findall(code)))
    return any(_LAUNCHER.fullmatch(Path(path).name) or not _is_binary(Path(path)) for path in named)


def _is_binary(program: Path) -> bool:
    with program.open("rb") as file:
        return file.read(len(_ELF)) == _ELF


def _short(content: bytes) -> str:
    return blake2b(content, digest_size=6).hexdigest()
