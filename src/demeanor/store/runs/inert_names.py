"""Names of files that are kept for people to look at, changed so that no program runs them by itself.

The settings in a `.git` folder name programs that git and editors run, `.envrc` is run by the shell that enters its
folder, `conftest.py` by a test run above it. So a name gets `_` in front if it begins with a dot, or is one of those
below. A name that could be taken for one that was changed gets another `_`, so that no two names become the same.
"""

from __future__ import annotations

_RUN = frozenset(
    {
        "head", "git~1",  # a folder with HEAD can be a repository whatever its name is; `git~1` is `.git` on Windows
        "mise.toml", "mise.local.toml", "rust-toolchain", "rust-toolchain.toml",  # on entering a folder
        "makefile", "gnumakefile", "cmakelists.txt", "pylintrc", "mypy.ini", "node_modules", "session.vim",  # editors
        "pyproject.toml", "setup.cfg", "tox.ini",  # they name hooks and plugins of linters, which editors start
        "cargo.toml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "mix.exs",
        "build.sbt", "package.swift", "directory.build.props", "directory.build.targets",  # editors build on opening
        "conftest.py", "sitecustomize.py", "usercustomize.py",  # test runs and interpreters
        "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md",  # coding agents
    }
)  # fmt: skip
_CODE = ("js", "cjs", "mjs", "ts", "mts", "cts")
_RUN_ENDINGS = (
    ".code-workspace",
    ".sublime-project",
    ".csproj",
    ".fsproj",
    ".vbproj",
    *(f".config.{code}" for code in _CODE),
)
_MAX_NAME = 255


def inert_path(path: str) -> str | None:
    """The path under which a file is kept; None if a name would be too long for a file system."""
    parts = [_inert_name(part) for part in path.split("/")]
    return None if any(len(part.encode("utf-8", "surrogateescape")) > _MAX_NAME for part in parts) else "/".join(parts)


def _inert_name(name: str) -> str:
    plain = name.lstrip("_").casefold()
    return f"_{name}" if plain.startswith(".") or plain in _RUN or plain.endswith(_RUN_ENDINGS) else name
