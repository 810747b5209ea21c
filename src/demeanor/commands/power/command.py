"""`demeanor power`: how many trials it takes to detect a drop, and the cost and error rates of each rule."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from demeanor.cli.options import count_argument, positive_float, positive_int, rate_argument
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.core.error_rates import ErrorRates

_LONGEST_HISTORY = 400


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "base", nargs="?", type=rate_argument, default=0.95, metavar="FROM", help="pass rate (default: 95%%)"
    )
    parser.add_argument(
        "new", nargs="?", type=rate_argument, default=0.80, metavar="TO", help="lower rate (default: 80%%)"
    )
    parser.add_argument(
        "--level", type=rate_argument, default=0.05, metavar="RATE", help="false alarms allowed (default: 5%%)"
    )
    parser.add_argument(
        "--power", type=rate_argument, default=0.8, metavar="RATE", help="drops to detect (default: 80%%)"
    )
    parser.add_argument(
        "--trials", type=positive_int, metavar="N", help="also show the smallest drop that this many trials detect"
    )
    parser.add_argument(
        "--history", type=positive_int, default=60, metavar="N", help="trials of an eval in the history (default: 60)"
    )
    parser.add_argument(
        "--evals", type=positive_int, metavar="N", help="also show how well a suite of this many evals detects a drop"
    )
    parser.add_argument(
        "--suite",
        type=count_argument,
        metavar="N",
        help="also show how often a gate with N USUALLY_PASSES cells blocks a healthy change, and detects a drop",
    )
    parser.add_argument(
        "--always", type=count_argument, default=0, metavar="M", help="ALWAYS_PASSES cells of that gate (default: 0)"
    )
    parser.add_argument(
        "--always-rate", type=rate_argument, default=0.99, metavar="RATE", help="their pass rate (default: 99%%)"
    )
    parser.add_argument("--subjects", type=positive_int, default=1, metavar="N", help="enabled subjects (default: 1)")
    parser.add_argument("--cost", type=positive_float, metavar="USD", help="cost of a trial, to show costs too")
    parser.add_argument("--rule", metavar="NAME", help="only the error rates of the rules of this name")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Calculate and print."""
    from demeanor.core.codec import encode

    if not args.new < args.base:
        raise UsageError(
            f"FROM={args.base:g} TO={args.new:g}: TO must be lower than FROM\n  → for example: demeanor power 95% 80%"
        )
    if args.level + (1 - args.power) >= 1:
        raise UsageError(
            f"--level {args.level:g} --power {args.power:g}: guessing is as good\n  → lower --level or raise --power"
        )
    if args.always and args.suite is None:
        raise UsageError(f"--always {args.always}: works only with --suite\n  → --suite 0 --always {args.always}")
    if args.suite == 0 and not args.always:
        raise UsageError("--suite 0: the gate has no cells\n  → add --always M")
    if args.history > _LONGEST_HISTORY:
        raise UsageError(f"--history {args.history}: at most {_LONGEST_HISTORY}")
    if args.rule is not None:
        found = _rules(args.rule, args.subjects, args.history)
        if args.json:
            print(json.dumps(encode(found), indent=2))
        else:
            _print_rules(found)
        return ExitCode.ACCEPTED
    from demeanor.commands.power.rules import gate_plans, power_report

    report = power_report(
        args.base,
        args.new,
        level=args.level,
        power=args.power,
        history=args.history,
        trials=args.trials,
        evals=args.evals,
        subjects=args.subjects,
        cost_usd=args.cost,
        gates=gate_plans(
            args.base, usual=args.suite, always=args.always, always_rate=args.always_rate, history=args.history
        )
        if args.suite is not None
        else (),
    )
    if args.json:
        print(json.dumps(encode(report), indent=2))
        return ExitCode.ACCEPTED
    from demeanor.commands.power.render import power_lines
    from demeanor.render.terminal import paint, screen_of

    screen = screen_of(sys.stdout)
    text = paint(power_lines(report, screen.width), screen)
    sys.stdout.write(screen.safe(text) if not screen.color else text)
    return ExitCode.ACCEPTED


def _rules(name: str, subjects: int, history: int) -> tuple[ErrorRates, ...]:
    """The error rates of all rules of this name: of the gate, of promotion and of demotion."""
    from demeanor.config.rule_names import rule_name
    from demeanor.decide.gate import always
    from demeanor.decide.gate.rules import RULES, VARIANTS
    from demeanor.decide.promotion.rules import DEMOTE, PROMOTE

    current = rule_name(name)
    found = [always.error_rates()] if current == always.NAME else []
    found += [rule.error_rates(past=history) for rule in VARIANTS if rule.name == current]
    for rules in (PROMOTE, DEMOTE):
        found += [rule.error_rates(subjects=subjects) for rule in rules.values() if rule.name == current]
    if not found:
        raise UnknownName("rule", name, {always.NAME, *RULES, *PROMOTE, *DEMOTE})
    return tuple(found)


def _print_rules(found: tuple[ErrorRates, ...]) -> None:
    from rich.text import Text

    from demeanor.commands.power.render import error_rates_lines
    from demeanor.render.terminal import paint, screen_of

    screen = screen_of(sys.stdout)
    lines = [line for one in found for line in [*error_rates_lines(one, screen.width), Text()]]
    text = paint(lines[:-1], screen)
    sys.stdout.write(screen.safe(text) if not screen.color else text)
