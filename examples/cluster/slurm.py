"""A cluster on Slurm for one command: the scheduler runs here, workers are jobs, and all of them end with the command.

python slurm.py --workers 8 --partition batch -- demeanor nightly --budget 200usd
python slurm.py --workers 8 --print                  # prints the job script only

Needs dask-jobqueue. Workers read their keys from ~/demeanor-keys.env (KEY=value lines, mode 600).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of SLURMCluster."""
    from distributed.security import Security

    certificate, key = str(args.certs.resolve() / "cluster.pem"), str(args.certs.resolve() / "cluster.key")
    security = Security(
        require_encryption=True,
        tls_ca_file=certificate,
        tls_scheduler_cert=certificate,
        tls_scheduler_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
        tls_client_cert=certificate,
        tls_client_key=key,
    )
    return {
        "queue": args.partition,
        "cores": args.slots,
        "job_cpu": max(1, args.slots // 2),
        "processes": 1,
        "memory": f"{args.slots} GiB",
        "walltime": args.time,
        "protocol": "tls://",
        "security": security,
        "nanny": False,
        "scheduler_options": {"port": args.port, "dashboard_address": "127.0.0.1:0", "allowed_failures": 0},
        "worker_extra_args": ["--resources", f"demeanor={args.slots}", "--no-dashboard"],
        "job_script_prologue": ["set -a; . ~/demeanor-keys.env; set +a"],
    }


def main() -> None:
    """Start the scheduler and the jobs, run the command, and end them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=4, help="the number of jobs")
    parser.add_argument("--slots", type=int, default=4, help="attempts in parallel per job")
    parser.add_argument("--partition", default=None)
    parser.add_argument("--time", default="08:00:00", help="the time limit of a job")
    parser.add_argument("--port", type=int, default=8786)
    parser.add_argument(
        "--certs", type=Path, default=Path("certs"), help="the folder that [executor.cluster] names, too"
    )
    parser.add_argument("--print", action="store_true", help="print the job script, and start nothing on Slurm")
    parser.add_argument("command", nargs="*", help="the command to run, after --")
    args = parser.parse_args()
    import dask
    from dask_jobqueue import SLURMCluster

    dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.reuse-broadcast-comm": True})
    with SLURMCluster(**options(args)) as cluster:
        if args.print:
            sys.stdout.write(cluster.job_script())
            return
        cluster.scale(jobs=args.workers)
        code = subprocess.run([*args.command, "--on", cluster.scheduler_address], check=False).returncode
    raise SystemExit(code)


if __name__ == "__main__":
    main()
