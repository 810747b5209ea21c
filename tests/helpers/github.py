"""A `gh` that answers as the real one does, from a repository on GitHub that is a folder here."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = "acme/agent"
_GH = """\
#!{python}
import json, pathlib, sys, time
from urllib.parse import parse_qs, urlsplit

here = pathlib.Path({folder!r})
state = json.loads((here / "state.json").read_text())
words = sys.argv[1:]
with (here / "calls").open("a") as calls:
    calls.write(" ".join(words) + "\\n")

def end(code, said, body=None):
    if body:
        print(json.dumps(body))
    sys.exit(print(said, file=sys.stderr) or code)

if state["problem"] == "signed out":
    end(4, "To get started with GitHub CLI, please run:  gh auth login")
if state["problem"] == "no network":
    end(1, "error connecting to api.github.com\\ncheck your internet connection or https://githubstatus.com")
if state["problem"] == "hangs":
    time.sleep(600)
assert words[0] == "api", words
host = words[2] if words[1] == "--hostname" else "github.com"
url = urlsplit(words[-1])
path = url.path.removeprefix("repos/" + state["repository"] + "/")
if state["problem"] == "no rights" or path == url.path or host != state["host"]:
    end(1, "gh: Not Found (HTTP 404)", {{"message": "Not Found", "status": "404"}})
query = {{name: values[0] for name, values in parse_qs(url.query).items()}}

def page(key, items):
    size, number = min(100, int(query.get("per_page", 30))), int(query.get("page", 1))
    shown = items[(number - 1) * size : number * size]
    print(json.dumps({{"total_count": len(items), key: shown}}))

kind = path.split("/")[1]
if kind == "workflows":
    runs = [run for run in state["runs"] if run["path"].endswith(path.split("/")[2])]
    page("workflow_runs", [run for run in runs if run["head_branch"] == query.get("branch", run["head_branch"])])
elif kind == "runs" and path.endswith("/artifacts"):
    page("artifacts", state["artifacts"].get(path.split("/")[2], []))
elif kind == "runs":
    found = [run for run in state["runs"] if str(run["id"]) == path.split("/")[2]]
    if not found:
        end(1, "gh: Not Found (HTTP 404)", {{"message": "Not Found", "status": "404"}})
    print(json.dumps(found[0]))
else:
    archive = here / (path.split("/")[2] + ".zip")
    if not archive.exists():
        end(1, "gh: Artifact has expired (HTTP 410)", {{"message": "Artifact has expired", "status": "410"}})
    sys.stdout.buffer.write(archive.read_bytes())
"""


@dataclass
class PlayedGitHub:
    """The repository, and the program that reads it."""

    folder: Path
    host: str = "github.com"
    problem: str = ""
    """`signed out`, `no rights`, `no network` or `hangs`; empty if all is well."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    """As the API lists them, the newest first."""

    artifacts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def install(self, tools: Path) -> None:
        """Put the program into a folder."""
        self.folder.mkdir(exist_ok=True)
        (tools / "gh").write_text(_GH.format(python=sys.executable, folder=str(self.folder)))
        (tools / "gh").chmod(0o755)
        self.save()

    def save(self) -> None:
        """Let the program see what was changed."""
        state = {
            "host": self.host,
            "repository": REPOSITORY,
            "problem": self.problem,
            "runs": self.runs,
            "artifacts": self.artifacts,
        }
        (self.folder / "state.json").write_text(json.dumps(state))

    def run(self, commit: str, day: str, *, fork: bool = False, **other: Any) -> int:
        """Add a newer run of the nightly workflow, which lasted from one to three o'clock; returns its number."""
        number = 1000 + len(self.runs)
        run = {
            "id": number,
            "run_attempt": 1,
            "path": ".github/workflows/evals-nightly.yml",
            "status": "completed",
            "event": "schedule",
            "head_branch": "main",
            "head_sha": commit,
            "run_started_at": f"{day}T01:00:00Z",
            "updated_at": f"{day}T03:00:00Z",
            "repository": {"full_name": REPOSITORY},
            "head_repository": {"full_name": "stranger/agent" if fork else REPOSITORY},
        }
        self.runs.insert(0, {**run, **other})
        self.save()
        return number

    def upload(
        self, run: int, folders: Sequence[Path], *, name: str = "evals-nightly", expired: bool = False, tar: bool = True
    ) -> Path:
        """Add folders as an artifact of a run: as a tar file, as the generated workflows do, or as they are; then the
        last of them is there also as `latest`, since a zip archive has no links."""
        number = 5000 + sum(map(len, self.artifacts.values()))
        archive = self.folder / f"{number}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
            if tar:
                packed = io.BytesIO()
                with tarfile.open(fileobj=packed, mode="w:gz") as results:
                    for folder in folders:
                        results.add(folder, f"results/{folder.name}")
                files.writestr("results.tgz", packed.getvalue())
            for top, folder in () if tar else [*((folder.name, folder) for folder in folders), ("latest", folders[-1])]:
                for path in sorted(folder.rglob("*")):
                    if path.is_file() and not path.is_symlink():
                        files.write(path, f"{top}/{path.relative_to(folder)}")
        content = archive.read_bytes()
        about = {
            "id": number,
            "name": f"{name}-{run}",
            "size_in_bytes": len(content),
            "expired": expired,
            "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        }
        self.artifacts.setdefault(str(run), []).append(about)
        if expired:
            archive.unlink()
        self.save()
        return archive

    def calls(self) -> list[str]:
        """What the program was asked since the last time."""
        file = self.folder / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines
