"""`demeanor cluster`: make the certificate of a cluster, or check its workers."""

from __future__ import annotations

import argparse
import os
import sys

from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode

SUMMARY = "make the certificate of a cluster of workers, or check its workers"
GROUP = "machine"
EXAMPLES = (
    ("demeanor cluster certs certs/", "the certificate of a new cluster"),
    ("demeanor cluster check --on tls://scheduler.example:8786", "which workers can be used"),
    ("demeanor cluster check --on 2", "what two workers on this machine can do"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    from demeanor.cli import config_argument, new_folder, on_argument

    parser.add_argument(
        "action",
        choices=("certs", "check"),
        help="certs: write the certificate of a new cluster; check: show which workers can be used and why not, and "
        "start every agent on them",
    )
    parser.add_argument(
        "folder", type=new_folder, nargs="?", metavar="DIR", help="where `certs` writes the certificate"
    )
    group = parser.add_argument_group("which cluster")
    on_argument(group)
    group.add_argument(
        "--subject", action="append", default=[], metavar="AGENT:MODEL", help="a subject to run there; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print the workers as JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Write a certificate, or check workers."""
    if args.action == "certs":
        return _certs(args)
    import asyncio

    from demeanor.cli import load_config
    from demeanor.plugins.cluster.check import check_cluster
    from demeanor.plugins.cluster.client import require_distributed
    from demeanor.plugins.cluster.render import workers_json, workers_text
    from demeanor.plugins.cluster.spec import ClusterSpec
    from demeanor.render import screen_of
    from demeanor.runner import Catalog

    require_distributed()
    config = load_config(args)
    spec = config.executor
    if not isinstance(spec, ClusterSpec):
        raise UsageError("no cluster is named\n  → add --on tls://HOST:PORT, or --on N to start N workers here")
    catalog = Catalog(config=config, environ=os.environ)
    subjects = tuple(catalog.subject(text) for text in args.subject or catalog.subjects)
    workers = asyncio.run(check_cluster(catalog, spec, subjects))
    print(workers_json(workers) if args.json else workers_text(workers, screen_of(sys.stdout)), end="")
    fine = all(not worker.problem and not worker.broken for worker in workers)
    return ExitCode.ACCEPTED if fine else ExitCode.REJECTED


def _certs(args: argparse.Namespace) -> ExitCode:
    from demeanor.plugins.cluster.certificates import write_certificate
    from demeanor.plugins.cluster.client import require_distributed

    require_distributed()
    if args.folder is None:
        raise UsageError("no folder is named\n  → demeanor cluster certs DIR")
    for path in write_certificate(args.folder):
        print(path)
    print("Copy the folder to the scheduler and to every worker.")
    return ExitCode.ACCEPTED
