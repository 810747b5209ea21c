"""The bench: the same work with Demeanor, with other tools and with a bare loop, interleaved, on this machine.

    python benchmarks/bench.py [--quick] [--short] [--rounds N] [--sizes 200,2000] [--peers NAME,… | none] [--write]

Other tools are installed into environments of their own in ~/.cache/demeanor-bench (or $DEMEANOR_BENCH_CACHE).
`--quick` measures 200 trials with Demeanor and the bare loop, for before and after a change. `--short` leaves out
20,000 trials and gives slow tools one round of 2,000, which takes less than 20 minutes on two idle cores. `--write`
writes docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.comparison.commands import bytes_per_trial, peer_start_up, start_up, stored_run  # noqa: E402
from benchmarks.comparison.measure import adopt_orphans, machine  # noqa: E402
from benchmarks.comparison.model_server import model_server  # noqa: E402
from benchmarks.comparison.page import Figures, Work, table, write_page  # noqa: E402
from benchmarks.comparison.peers import PEERS, Peer  # noqa: E402
from benchmarks.comparison.trials import (  # noqa: E402
    Tool,
    bare_tool,
    check_server,
    demeanor_tool,
    interleaved,
    peer_tool,
)

LARGE, MODEL_TRIALS = 20_000, 200
"""The size that only Demeanor and the bare loop are given, once; and the number of trials that ask a model."""


def main() -> None:
    """Measure, print tables, and write the page if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--sizes", help=f"numbers of trials; 200,2000,{LARGE} unless told")
    parser.add_argument("--asking", type=int, default=MODEL_TRIALS, help="the number of trials that ask a model")
    parser.add_argument("--peers", default="all", help="names, `all` or `none`")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    args = parser.parse_args()
    args.sizes = args.sizes or ("200,2000" if args.short else f"200,2000,{LARGE}")
    if args.quick:
        args.rounds, args.sizes, args.peers = min(args.rounds, 3), "200", "none"
    adopt_orphans()
    facts = machine()
    peers, left_out = _installed(args.peers)
    with model_server() as url, tempfile.TemporaryDirectory() as folder:
        check_server(url)
        figures = _measured(args, facts, peers, left_out, url, Path(folder, "kept"))
    for work in figures.works:
        print(f"\n{work.trials} trials, {work.program}")
        print("\n".join(table(work, {})))
    for name, seconds in (*figures.start_up.items(), *figures.stored.items()):
        print(f"{name:40} {seconds * 1000:8.1f} ms")
    print(f"{'bytes per trial':40} {figures.size[0]:8.0f} in files, {figures.size[1]:.0f} allocated")
    if args.write:
        write_page(ROOT / "docs/benchmarks.md", figures)


def _installed(chosen: str) -> tuple[list[Peer], dict[str, str]]:
    """The peers that can be measured, and why others can't."""
    wanted = [] if chosen == "none" else [peer for peer in PEERS if chosen == "all" or peer.name in chosen.split(",")]
    found, left_out = [], {}
    for peer in wanted:
        problem = peer.install()
        if problem is None:
            found.append(peer)
        else:
            left_out[peer.name] = problem
            print(f"{peer.name} is left out: {problem}", file=sys.stderr)
    return found, left_out


def _measured(
    args: argparse.Namespace,
    facts: dict[str, str],
    peers: Sequence[Peer],
    left_out: dict[str, str],
    url: str,
    kept: Path,
) -> Figures:
    sizes = [int(size) for size in args.sizes.split(",")]
    own = [bare_tool(url), demeanor_tool("none", url, kept), demeanor_tool("bubblewrap", url)]
    tools = [*own, *(peer_tool(peer, url) for peer in peers)]
    works = []
    slow_rounds = 1 if args.short else 2
    for size in sorted(sizes):  # so that the run that is kept is the largest one
        if not args.quick and size < LARGE:
            works.append(_work(tools, "python", size, args.rounds, slow_rounds))
        works.append(_work(own, "sh", size, args.rounds if size < LARGE else 1))
    stored, bytes_each = stored_run(kept, 3), bytes_per_trial(kept, max(sizes))
    if not args.quick:
        works.append(_work([tool for tool in tools if tool.asks], "model", args.asking, args.rounds))
    return Figures(
        machine=facts,
        works=sorted(works, key=lambda work: (work.program != "python", work.program, work.trials)),
        start_up={**start_up(2 * args.rounds + 1), **peer_start_up(peers, args.rounds)},
        stored=stored,
        stored_trials=max(sizes),
        size=bytes_each,
        keeps={tool.name: tool.keeps for tool in tools},
        left_out=left_out,
    )


def _work(tools: Sequence[Tool], program: str, trials: int, rounds: int, slow_rounds: int = 2) -> Work:
    samples = interleaved(tools, program, trials, rounds, slow_rounds)
    most = {tool.name: tool.most for tool in tools if tool.most is not None and tool.most < trials}
    return Work(program=program, trials=trials, samples=samples, most=most)


if __name__ == "__main__":
    main()
