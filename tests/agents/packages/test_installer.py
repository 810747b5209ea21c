"""Installing agents: with a package manager that stands in for npm, and with real ones and packages of this machine."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from demeanor.agents.packages.installer import InstallError, install_package
from demeanor.agents.packages.lock_file import lock_name
from demeanor.agents.packages.package import Package, this_platform
from demeanor.sandboxes.supervisor.process_tree import HAS_SUBREAPERS
from tests.helpers.processes import alive
from tests.sandboxes.conftest import wait_until

NPM = """\
#!/bin/sh
mkdir -p node_modules/agent/vendor
echo x >> "$COUNT"
touch node_modules/agent/vendor/rg
cat > node_modules/agent/agent <<'END'
#!/bin/sh
mkdir -p "$XDG_CACHE_HOME" && echo "$*" > "$XDG_CACHE_HOME/unpacked"
END
chmod +x node_modules/agent/agent
"""


def _environ(tmp_path: Path) -> dict[str, str]:
    npm = tmp_path / "bin/npm"
    npm.parent.mkdir()
    npm.write_text(NPM)
    npm.chmod(0o755)
    return {"PATH": f"{npm.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "COUNT": str(tmp_path / "count")}


def _install(tmp_path: Path, *, environ: dict[str, str], **fields: Any) -> Path:
    package = Package(manager="npm", name="agent", version="1.0", program="node_modules/agent/agent", **fields)
    return install_package("agent", package, None, tmp_path / "agents", environ, lambda text: None)


def test_a_program_that_unpacks_itself_is_started_once_at_the_end(tmp_path: Path):
    """Its cache is part of the installation, so trials need not unpack it again."""
    program = _install(tmp_path, environ=_environ(tmp_path), first_run=("--help",))
    assert program == tmp_path / "agents/agent/1.0/node_modules/agent/agent"
    assert (tmp_path / "agents/agent/1.0/cache/unpacked").read_text() == "--help\n"


def test_helpers_are_made_executable_and_an_incomplete_installation_is_repaired(tmp_path: Path):
    """npm unpacks some programs without that permission; an old installation may lack a helper."""
    environ = _environ(tmp_path)
    helper = tmp_path / "agents/agent/1.0/node_modules/agent/vendor/rg"
    _install(tmp_path, environ=environ, helpers=("node_modules/*/vendor/rg",))
    assert os.access(helper, os.X_OK)
    helper.chmod(0o644)
    _install(tmp_path, environ=environ, helpers=("node_modules/*/vendor/rg",))
    assert os.access(helper, os.X_OK)
    assert (tmp_path / "count").read_text() == "x\n"
    helper.unlink()
    _install(tmp_path, environ=environ, helpers=("node_modules/*/vendor/rg",))
    assert os.access(helper, os.X_OK)
    assert (tmp_path / "count").read_text() == "x\nx\n"


STUCK_NPM = """\
#!/bin/sh
cd "$NOTES"
setsid sh -c 'echo $$ > new; mv new daemon; exec sleep 1000' &
while [ ! -e daemon ]; do sleep 0.01; done
echo $$ > new; mv new own
while :; do sleep 0.01; done
"""


@pytest.mark.skipif(not HAS_SUBREAPERS, reason="whole trees of processes can be ended on Linux only")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_installation_leaves_nothing(number: signal.Signals, tmp_path: Path):
    """No process, and no incomplete folder; if Demeanor is killed, the next installation removes that."""
    environ = {**os.environ, **_environ(tmp_path), "NOTES": str(tmp_path)}
    npm = tmp_path / "bin/npm"
    npm.write_text(STUCK_NPM)
    (tmp_path / "bin/node").symlink_to("/bin/true")
    command = [sys.executable, "-m", "demeanor", "agents", "install", "--dir", str(tmp_path / "agents"), "gemini-cli"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        wait_until((tmp_path / "own").exists)
        os.kill(process.pid, number)
        process.wait(120)
    wait_until(lambda: not any(alive(int((tmp_path / name).read_text())) for name in ("daemon", "own")))
    if number == signal.SIGKILL:
        npm.write_text("#!/bin/sh\nexit 1\n")
        again = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert "gemini-cli" in again.stderr
    else:
        assert process.returncode == 130
    assert [path.name for path in (tmp_path / "agents/gemini-cli").iterdir()] == [".lock"]


def test_a_folder_that_can_not_be_written_is_an_error_with_a_remedy(tmp_path: Path):
    """Such as a read-only folder or a full disk: not a bug of Demeanor."""
    (tmp_path / "agents").write_text("a file")
    with pytest.raises(InstallError, match=r"agents/agent can't be written: .*\n  → set DEMEANOR_AGENTS to"):
        _install(tmp_path, environ=_environ(tmp_path))


def test_a_version_without_a_lock_file_is_installed_and_the_user_is_told(tmp_path: Path):
    told: list[str] = []
    package = Package(manager="npm", name="agent", version="1.0", program="node_modules/agent/agent")
    install_package("agent", package, "0.9.0", tmp_path / "agents", _environ(tmp_path), told.append)
    assert (
        f"agent 0.9.0 has no lock file for {this_platform()}: the versions and checksums of its dependencies" in told[1]
    )


@pytest.mark.parametrize("missing", ["npm", "node"])
def test_a_missing_npm_or_node_is_named_with_the_agent_and_a_remedy(tmp_path: Path, missing: str):
    for program in {"npm", "node"} - {missing}:
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    with pytest.raises(InstallError) as error:
        _install(tmp_path, environ={"PATH": str(tmp_path), "HOME": str(tmp_path)}, needs="node >= 20")
    assert str(error.value) == (
        f"agent 1.0 could not be installed: it is an npm package, and {missing} is not on PATH\n"
        "  → install Node.js with npm (node >= 20), or set agents.agent.program to an installed agent"
    )


WITH_UV = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


class _Wheels:
    """Wheels `agent` and `needed`, the second in two versions, in a folder that pip or uv takes for its registry."""

    def __init__(self, tmp_path: Path, installer: str = "pip") -> None:
        self.folder = tmp_path / "wheels"
        self.folder.mkdir()
        self.sums = {
            (name, version): self._wheel(name, version, needs)
            for name, version, needs in (("agent", "1.0", "needed"), ("needed", "1.0", ""), ("needed", "2.0", ""))
        }
        sources = {
            "pip": {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.folder)},
            "uv": {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(self.folder)},
        }
        self.environ = {"PATH": WITH_UV, "HOME": str(tmp_path), **sources[installer]}
        self.package = Package(
            manager="pip",
            name="agent",
            version="1.0",
            program="bin/agent",
            needs="python >= 3.10",
            locks=tmp_path / "locks",
        )
        self.package.locks.mkdir()

    def _wheel(self, name: str, version: str, needs: str) -> str:
        path, info = self.folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"{name}.py", "def main(): pass\n")
            wheel.writestr(f"{info}/METADATA", metadata + (f"Requires-Dist: {needs}\n" if needs else ""))
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{name} = {name}:main\n")
            wheel.writestr(f"{info}/RECORD", "")
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def lock(self, **sums: str) -> None:
        """Write the lock file: `needed` in its older version."""
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        lines = [
            f"{name}==1.0 --hash=sha256:{sums.get(name, self.sums[name, '1.0'])}\n" for name in ("agent", "needed")
        ]
        (self.package.locks / lock_name("agent", self.package, this_platform(), python)).write_text("".join(lines))


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_exactly_what_the_lock_file_names_is_installed(tmp_path: Path, installer: str):
    """Without it, the newest version of a dependency would be. uv, which is on PATH, does not know pip's registry."""
    wheels = _Wheels(tmp_path, installer)
    wheels.lock()
    told: list[str] = []
    program = install_package("agent", wheels.package, None, tmp_path / "agents", wheels.environ, told.append)
    assert list(program.parents[1].glob("lib/python*/site-packages/needed-1.0.dist-info"))
    assert not [line for line in told if "lock file" in line]
    assert any("uv downloads" in line for line in told) is (installer == "uv")
    assert str(program.parents[1]) in program.read_text().splitlines()[0]


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_python_package_with_another_checksum_is_refused(tmp_path: Path, installer: str):
    wheels = _Wheels(tmp_path, installer)
    wheels.lock(needed="0" * 64)
    with pytest.raises(
        InstallError, match=rf"agent 1\.0 could not be installed: {installer} got a package whose checksum differs"
    ):
        install_package("agent", wheels.package, None, tmp_path / "agents", wheels.environ, lambda text: None)
    assert not (tmp_path / "agents/agent/1.0").exists()


@pytest.mark.parametrize(
    ("installer", "sources"),
    [("pip", {"PIP_INDEX_URL": "", "PIP_RETRIES": "1"}), ("uv", {"UV_DEFAULT_INDEX": "", "UV_HTTP_RETRIES": "0"})],
)
def test_an_installer_without_a_network_is_explained(tmp_path: Path, installer: str, sources: dict[str, str]):
    wheels = _Wheels(tmp_path)
    wheels.lock()
    environ = {"PATH": WITH_UV, "HOME": str(tmp_path)}
    environ |= {name: value or _closed_port() for name, value in sources.items()}
    with pytest.raises(InstallError) as error:
        install_package("agent", wheels.package, None, tmp_path / "agents", environ, lambda text: None)
    assert str(error.value).startswith(f"agent 1.0 could not be installed: {installer} can't reach its registry\n")
    assert "run `demeanor agents install agent@1.0` again" in str(error.value)


def _closed_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{found.getsockname()[1]}"


@pytest.fixture
def registry() -> Iterator[str]:
    """A registry for npm, with the packages `agent` and `needed`, and `binary`, which is optional."""
    versions = {"agent": ("1.0.0",), "needed": ("1.0.0", "1.1.0"), "binary": ("1.0.0",)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, _, version = self.path.strip("/").partition("/-/")
            if version:
                body = _tarball(name, version.removesuffix(".tgz"))
            else:
                base = f"http://{self.headers['Host']}"
                listed = {
                    one: {**_manifest(name, one), "dist": {"tarball": f"{base}/{name}/-/{one}.tgz"}}
                    for one in versions[name]
                }
                latest = {"latest": versions[name][-1]}
                body = json.dumps({"name": name, "dist-tags": latest, "versions": listed}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _manifest(name: str, version: str) -> dict[str, object]:
    system, _, machine = this_platform().partition("-")
    more: dict[str, object] = {
        "agent": {"dependencies": {"needed": "^1.0.0"}, "optionalDependencies": {"binary": "1.0.0"}},
        "binary": {"os": [system], "cpu": [machine]},
    }.get(name, {})
    return {"name": name, "version": version, **more}


def _tarball(name: str, version: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in (("package.json", json.dumps(_manifest(name, version))), ("agent", "#!/bin/sh\n")):
            member = tarfile.TarInfo(f"package/{path}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
    return packed.getvalue()


def _locked_npm(tmp_path: Path, registry: str, wrong: str = "") -> tuple[Package, dict[str, str]]:
    """A package with a lock file, in which the checksum of the package `wrong` is wrong."""
    entries: dict[str, object] = {"": {"dependencies": {"agent": "1.0.0"}}}
    for name in ("agent", "binary", "needed"):
        packed = b"other" if name == wrong else _tarball(name, "1.0.0")
        integrity = f"sha512-{base64.b64encode(hashlib.sha512(packed).digest()).decode()}"
        optional = {"optional": True} if name == "binary" else {}
        entries[f"node_modules/{name}"] = {**_manifest(name, "1.0.0"), "integrity": integrity, **optional}
    package = Package(
        manager="npm", name="agent", version="1.0.0", program="node_modules/agent/agent", locks=tmp_path / "locks"
    )
    package.locks.mkdir()
    (package.locks / "agent.package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": entries}))
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "npm_config_registry": registry}
    return package, {**environ, "npm_config_fetch_retries": "0"}


@pytest.mark.agents
def test_npm_installs_exactly_what_the_lock_file_names(tmp_path: Path, registry: str):
    """Without it, npm would take the newest version of a dependency. The registry is the one that npm is set to."""
    package, environ = _locked_npm(tmp_path, registry)
    install_package("agent", package, None, tmp_path / "agents", environ, lambda text: None)
    modules = tmp_path / "agents/agent/1.0.0/node_modules"
    assert json.loads((modules / "needed/package.json").read_text())["version"] == "1.0.0"
    assert (modules / "binary").is_dir()


@pytest.mark.agents
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("needed", "npm got a package whose checksum differs from the lock file"),
        ("binary", "npm left out binary, because it could not be downloaded or its checksum is wrong"),
    ],
)
def test_an_npm_package_with_another_checksum_is_refused(tmp_path: Path, registry: str, wrong: str, why: str):
    """Of an optional package, npm itself would not even report it."""
    package, environ = _locked_npm(tmp_path, registry, wrong)
    with pytest.raises(InstallError, match=why):
        install_package("agent", package, None, tmp_path / "agents", environ, lambda text: None)
    assert not (tmp_path / "agents/agent/1.0.0").exists()


@pytest.mark.agents
def test_npm_without_a_network_is_explained(tmp_path: Path):
    package, environ = _locked_npm(tmp_path, _closed_port())
    with pytest.raises(InstallError) as error:
        install_package("agent", package, None, tmp_path / "agents", environ, lambda text: None)
    assert str(error.value).startswith("agent 1.0.0 could not be installed: npm can't reach its registry\n")
    assert "connect this machine to the network, or configure a mirror" in str(error.value)
