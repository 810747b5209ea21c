"""What is on the wires of a cluster: real packets between network namespaces, and what they say without TLS."""

from __future__ import annotations

import re
import signal
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.helpers.cluster import Cluster
from tests.helpers.network import HUB, PrivateNetwork
from tests.helpers.project import Project
from tests.helpers.wire import Wire

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=1)
def saves_the_note(rig, result):
    assert "notes.txt" in rig.workspace
"""
CONFIG = """\
subjects = ["native:milk", "teller"]
sandbox = "none"
[models.milk]
provider = "acme"
model = "scripted"
[providers.acme]
base_url = "{url}"
dialect = "anthropic"
key_env = "ACME_KEY"
[agents.teller]
adapter = "command"
command = ["sh", "-c", "echo key $ACME_KEY | tee notes.txt", "{{prompt}}"]
pass_env = ["ACME_KEY"]
"""
TAP = """\
import tornado.iostream

stream = tornado.iostream.SSLIOStream
read, write = stream.read_from_fd, stream.write_to_fd

def tap(own, way, data):
    with open(f"{folder}/{id(own)}-{way}", "ab") as file:
        file.write(data)

def read_from_fd(self, buffer):
    number = read(self, buffer)
    tap(self, "in", bytes(buffer[: number or 0]))
    return number

def write_to_fd(self, data):
    copied = bytes(data)
    number = write(self, data)
    tap(self, "out", copied[:number])
    return number

stream.read_from_fd, stream.write_to_fd = read_from_fd, write_to_fd
"""
"""Runs in the scheduler, through which all messages pass: writes them to files as they are inside TLS."""


@contextmanager
def provider(project: Project, network: PrivateNetwork) -> Iterator[tuple[str, str]]:
    """A provider in the middle of the network, played by a gateway; its URL and its key."""
    words = [*network.enter(""), *project.command("gateway", "serve", "--host", HUB, "--model", "scripted")]
    process = subprocess.Popen(words, cwd=project.folder, env=project.env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = None
    while not found:
        line = process.stderr.readline()
        assert line, "the gateway has ended"
        found = re.search(r"ANTHROPIC_BASE_URL=(\S+)  ANTHROPIC_API_KEY=(\S+)", line)
    try:
        yield found[1], found[2]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def unpacked(folder: Path) -> bytes:
    """Everything that the scheduler received and sent, and what is in it in compressed form."""
    plain = [path.read_bytes() for path in folder.iterdir() if path.name != "tap.py"]
    found = list(plain)
    for data in plain:
        for start in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
            try:
                found.append(zlib.decompressobj().decompress(data[start.start() :]))
            except zlib.error:
                continue
    return b"\n".join(found)


def test_a_key_is_on_no_wire_but_that_of_its_provider(project: Project, tmp_path_factory) -> None:
    """The worker has the key; one agent uses the model, another one prints the key and writes it to a file."""
    with PrivateNetwork("conductor", "worker") as network:
        cluster = Cluster(tmp_path_factory.mktemp("wire"), network)
        tapped = cluster.folder / "tapped"
        tapped.mkdir()
        wire = Wire(network, cluster.folder / "packets")
        try:
            with wire, provider(project, network) as (url, key):
                cluster.start_scheduler(preload=f"folder = {str(tapped)!r}\n{TAP}")
                cluster.start_worker("worker", ACME_KEY=key)
                cluster.wait_for_workers()
                certs = f'[executor.cluster]\ncerts = "{cluster.certs}"\n'
                project.write(demeanor_toml=CONFIG.format(url=url) + certs, evals__eval_a_py=EVAL)
                words = [*network.enter("conductor"), *project.command("run", "--on", cluster.address)]
                ran = subprocess.run(
                    words, cwd=project.folder, env=project.env, capture_output=True, text=True, check=False
                )
        finally:
            cluster.stop()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    port = int(re.search(r":(\d+)", url.removeprefix("http:"))[1])  # type: ignore[index]
    sent = wire.payloads()
    of_provider = b"".join(payload for ports, payload in sent.items() if port in ports)
    of_scheduler = int(cluster.address.rsplit(":", 1)[1])
    assert key.encode() in of_provider, "the capture is not complete"
    assert any(of_scheduler in ports and len(payload) > 10_000 for ports, payload in sent.items())
    assert not [ports for ports, payload in sent.items() if key.encode() in payload and port not in ports]
    messages = unpacked(tapped)
    assert b"buy milk" in messages, "the messages are not read"
    assert b"\xe2\x80\xb9redacted:ACME_KEY" in messages.replace(b"\\u2039", b"\xe2\x80\xb9")
    assert key.encode() not in messages
    stored = b"".join(path.read_bytes() for path in (project.folder / "results").rglob("*") if path.is_file())
    logs = b"".join(path.read_bytes() for path in cluster.folder.glob("*.log"))
    assert key.encode() not in stored + logs + (ran.stdout + ran.stderr).encode()
