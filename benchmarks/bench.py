"""The bench: the same work with Demeanor, with other tools and with a bare loop, interleaved, on this machine.

Measured are trials that write a file (in wall time, CPU time of all processes, and peak memory), trials that ask a
model, start-up, listing and reporting a stored run, and the bytes per trial. Other tools are installed into
environments of their own in ~/.cache/demeanor-bench (or $DEMEANOR_BENCH_CACHE). Close other programs before: a busy
machine distorts wall times.
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
"""The size that is measured in one round, without slow tools; and the number of trials that ask a model."""


def main() -> None:
    """Measure, print tables, and write the page if requested."""
    args = read_arguments(sys.argv[1:])
    adopt_orphans()
    facts = machine()
    peers, left_out = _installed(args.peers)
    with model_server() as url, tempfile.TemporaryDirectory() as folder:
        check_server(url)
        figures = _measured(args, facts, peers, left_out, url, Path(folder))
    for work in figures.works:
        print(f"\n{work.trials} trials, {work.program}")
        print("\n".join(table(work)))
    for name, seconds in (*figures.start_up.items(), *figures.stored.items()):
        print(f"{name:40} {seconds * 1000:8.1f} ms")
    print(f"{'bytes per trial':40} {figures.size[0]:8.0f} in files, {figures.size[1]:.0f} allocated")
    if args.write:
        write_page(ROOT / "docs/scale.md", figures)


def read_arguments(words: Sequence[str]) -> argparse.Namespace:
    """The options; exits with a message if they are wrong."""
    known = [peer.name for peer in PEERS]
    parser = argparse.ArgumentParser(
        prog="python benchmarks/bench.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--quick",
        action="store_true",
        help="Demeanor and the bare loop alone, 200 trials, at most 3 rounds: before and after a change, in 2 minutes",
    )
    kind.add_argument(
        "--short",
        action="store_true",
        help=f"without {LARGE} trials, and one round of 2000 for slow tools: 20 minutes on two idle cores",
    )
    parser.add_argument("--rounds", type=_number, default=5, metavar="N", help="rounds of each work (default: 5)")
    parser.add_argument(
        "--sizes", type=_sizes, metavar="N,N,…", help=f"numbers of trials to measure (default: 200,2000,{LARGE})"
    )
    parser.add_argument(
        "--asking",
        type=_number,
        default=MODEL_TRIALS,
        metavar="N",
        help=f"the number of trials that ask a model (default: {MODEL_TRIALS})",
    )
    parser.add_argument(
        "--peers", default="all", metavar="NAME,…", help=f"tools to compare with: all, none, or of {', '.join(known)}"
    )
    parser.add_argument("--write", action="store_true", help="write the figures to docs/scale.md")
    args = parser.parse_args(words)
    if args.peers not in ("all", "none") and (wrong := set(args.peers.split(",")) - set(known)):
        parser.error(f"argument --peers: unknown: {', '.join(sorted(wrong))}; the tools are {', '.join(known)}")
    if args.quick and (args.sizes or args.peers not in ("all", "none") or args.write):
        parser.error("--quick measures 200 trials without other tools, and writes nothing: leave out the other option")
    args.sizes = args.sizes or ([200, 2000] if args.short else [200, 2000, LARGE])
    if args.quick:
        args.rounds, args.sizes, args.peers = min(args.rounds, 3), [200], "none"
    return args


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _sizes(text: str) -> list[int]:
    return sorted(map(_number, text.split(",")))


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
    projects: Path,
) -> Figures:
    sizes: list[int] = args.sizes
    bare, isolated_bare = bare_tool(url), bare_tool(url, isolated=True)
    own = [demeanor_tool("none", url, projects), demeanor_tool("bubblewrap", url, projects)]
    tools = [bare, *own, *(peer_tool(peer, url) for peer in peers)]
    works = []
    slow_rounds = 1 if args.short else 2
    for size in sizes:  # in ascending order, so that the last run is the largest one
        rounds = args.rounds if size < LARGE else 1
        if not args.quick:
            works.append(_work(tools, "python", size, rounds, slow_rounds if size < LARGE else 0))
        works.append(_work([bare, isolated_bare, *own], "sh", size, rounds))
    largest = max(projects.glob("none-*"), key=lambda folder: folder.stat().st_mtime)
    stored, bytes_each = stored_run(largest, 3), bytes_per_trial(largest, max(sizes))
    if not args.quick:
        works.append(_work([tool for tool in tools if tool.asks], "model", args.asking, args.rounds))
    return Figures(
        machine=facts,
        works=sorted(works, key=lambda work: (work.program != "python", work.program, work.trials)),
        start_up={**start_up(2 * args.rounds + 1), **peer_start_up(peers, args.rounds)},
        stored=stored,
        stored_trials=max(sizes),
        size=bytes_each,
        keeps={tool.name: tool.keeps for tool in (*tools, isolated_bare)},
        left_out=left_out,
    )


def _work(tools: Sequence[Tool], program: str, trials: int, rounds: int, slow_rounds: int = 2) -> Work:
    samples = interleaved(tools, program, trials, rounds, slow_rounds)
    most = {tool.name: tool.most for tool in tools if tool.most is not None and tool.most < trials}
    return Work(program=program, trials=trials, samples=samples, most=most)


if __name__ == "__main__":
    main()
