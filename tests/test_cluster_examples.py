"""examples/cluster/: every command line in it is one that Dask accepts, and no key is in a file."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import yaml

from demeanor.plugins.cluster.certificates import CERTIFICATE, KEY, write_certificate

FOLDER = Path(__file__).parents[1] / "examples/cluster"


@pytest.fixture(scope="module")
def certs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real certificate, because Dask looks at the files."""
    folder = tmp_path_factory.mktemp("examples") / "certs"
    write_certificate(folder)
    return folder


def parsed(words: list[str], certs: Path) -> dict[str, Any]:
    """The options of a `dask scheduler` or `dask worker` command, as Dask's own parser reads them."""
    from distributed.cli.dask_scheduler import main as scheduler
    from distributed.cli.dask_worker import main as worker

    assert words[0] == "dask"
    command = {"scheduler": scheduler, "worker": worker}[words[1]]
    here = [re.sub("^(demeanor-certs|/certs)/", f"{certs}/", word) for word in words[2:]]
    return dict(command.make_context(words[1], here).params)


def check(scheduler: list[str], worker: list[str], certs: Path) -> None:
    """TLS on both sides, and slots by the resource."""
    options = parsed(scheduler, certs)
    assert options["protocol"] == "tls"
    assert Path(options["tls_cert"]) == Path(options["tls_ca_file"]) == certs / CERTIFICATE
    assert options["dashboard"] is False
    options = parsed(worker, certs)
    assert options["scheduler"].startswith("tls://")
    assert Path(options["tls_key"]) == certs / KEY
    assert options["resources"] == f"demeanor={options['nthreads']}"
    assert options["nanny"] is False


def test_the_compose_file_starts_a_cluster_with_tls(certs: Path) -> None:
    """Keys come from the environment, for workers only."""
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    scheduler, worker = services["scheduler"], services["worker"]
    check(shlex.split(scheduler["command"]), shlex.split(worker["command"]), certs)
    assert scheduler["environment"] == {
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
        "DASK_DISTRIBUTED__SCHEDULER__REUSE_BROADCAST_COMM": "True",
    }
    assert all("=" not in name for name in worker["environment"])
    assert scheduler["volumes"] == worker["volumes"] == ["./certs:/certs:ro"]


def test_the_kubernetes_resource_starts_a_cluster_with_tls(certs: Path) -> None:
    """Keys are a secret that only workers refer to."""
    (cluster,) = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
    assert (cluster["apiVersion"], cluster["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    (scheduler,) = cluster["spec"]["scheduler"]["spec"]["containers"]
    (worker,) = cluster["spec"]["worker"]["spec"]["containers"]
    check(scheduler["args"], worker["args"], certs)
    assert {"name": "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "value": "0"} in scheduler["env"]
    assert worker["envFrom"] == [{"secretRef": {"name": "demeanor-keys"}}]
    assert "envFrom" not in scheduler
    assert worker["resources"]["limits"] == {"cpu": "2", "memory": "4Gi"}
    assert cluster["spec"]["scheduler"]["service"]["ports"][0]["port"] == 8786


def test_the_ssh_script_starts_a_cluster_with_tls(certs: Path) -> None:
    """`print` shows what `start` runs, on which host."""
    script = [str(FOLDER / "ssh.sh"), "print", "s.example", "w1.example", "w2.example"]
    lines = subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()
    hosts, commands = zip(*(line.split(": ", 1) for line in lines), strict=True)
    assert hosts == ("s.example", "w1.example", "w2.example")
    assert commands[0].startswith("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=0 ")
    dask = [shlex.split(command.rpartition("exec ")[2]) for command in commands]
    check(dask[0], dask[1], certs)
    assert subprocess.run([script[0], "dance"], check=False, capture_output=True).returncode == 2


def test_the_slurm_script_describes_a_cluster_with_tls(certs: Path) -> None:
    """With dask-jobqueue installed, also the job script that it submits."""
    spec = importlib.util.spec_from_file_location("slurm_example", FOLDER / "slurm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    args = Namespace(certs=certs, partition="batch", slots=4, time="01:00:00", port=0)
    found = module.options(args)
    assert found["protocol"] == "tls://"
    assert found["security"].require_encryption
    assert found["scheduler_options"]["allowed_failures"] == 0
    assert found["worker_extra_args"][:2] == ["--resources", "demeanor=4"]
    assert found["nanny"] is False
