"""`demeanor gateway serve`: serve models to an agent that you start yourself."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import config_argument, load_config, new_file, new_folder, port_argument
from demeanor.core.text.wording import count
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.fault import Fault, parse_faults
from demeanor.core.values.policy import USUALLY_PASSES
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial

if TYPE_CHECKING:
    from demeanor.core.redaction.redactor import Redactor
    from demeanor.core.values.exchange import Exchange
    from demeanor.core.values.ports import GatewaySession
    from demeanor.gateway import GatewayServer

_INSTRUCTIONS = """\
listening; configure your agent with one of
  OpenAI      OPENAI_BASE_URL={url}/v1  OPENAI_API_KEY={token}
  Anthropic   ANTHROPIC_BASE_URL={url}  ANTHROPIC_API_KEY={token}
  Gemini      GOOGLE_GEMINI_BASE_URL={url}  GEMINI_API_KEY={token}
models: {models}. Stop with Ctrl-C.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--model", action="append", default=[], metavar="MODEL", help="a model to offer; repeatable (default: all)"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", type=port_argument, default=0, help="port to listen on (default: any free port)")
    parser.add_argument("--unix", type=Path, metavar="PATH", help="listen on a Unix socket instead")
    parser.add_argument(
        "--log", type=new_file, metavar="FILE", help="append every exchange to this file as a line of JSON"
    )
    parser.add_argument(
        "--keep",
        type=new_folder,
        metavar="DIR",
        help="keep the traffic of this session, without secrets, in a new file of this folder, for `demeanor adopt`;"
        " start the gateway in the folder that the agent works in",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="KIND[@WHEN][:OPTION=VALUE]",
        help="inject a fault, such as 429@1 or cut@30%%; repeatable (demeanor help gateway)",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed of scripted models (default: 0)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Serve until Ctrl-C."""
    from demeanor.cli import run_interruptibly
    from demeanor.gateway import GatewayServer
    from demeanor.runner import Catalog

    catalog = Catalog(config=load_config(args), environ=os.environ)
    faults = parse_faults(args.fault, where="--fault")
    names = args.model or list(catalog.models.names())
    models = {name: catalog.models.model(name) for name in names}
    limits = catalog.config.gateway_limits
    server = GatewayServer(models, limits=limits, host=args.host, port=args.port, unix_path=args.unix)
    trial = _placeholder_trial(names, faults)
    logs = _Logs(log=args.log, keep=args.keep)
    run_interruptibly(_serve(server, trial, names, args.seed, logs, catalog.redactor), message="")
    counters = server.counters()
    exchanges = count(counters.exchanges, "exchange")
    print(f"{exchanges}, {counters.input_tokens} tokens in, {counters.output_tokens} tokens out")
    if logs.kept is not None:
        print(f"kept in {logs.kept}")
    return ExitCode.ACCEPTED


@dataclass(kw_only=True, slots=True)
class _Logs:
    """Where exchanges are written."""

    log: Path | None
    """The file of `--log`."""

    keep: Path | None
    """The folder of `--keep`."""

    kept: Path | None = None
    """The new file in that folder, which is created once the gateway listens."""

    def open(self, redactor: Redactor) -> list[Path]:
        """All files to append to."""
        self.kept = _new_traffic_file(self.keep, redactor) if self.keep else None
        return [log for log in (self.log, self.kept) if log is not None]


def _new_traffic_file(folder: Path, redactor: Redactor) -> Path:
    """A new file for the traffic of this session, readable by its owner only, with its first line."""
    from datetime import UTC, datetime

    from demeanor.core.redaction.values import redacted
    from demeanor.core.values.errors import BadInput
    from demeanor.runner import header_line, traffic_header

    now = datetime.now(UTC)
    header = redacted(traffic_header(Path.cwd(), now.isoformat(timespec="seconds")), redactor)
    path = folder / f"{now:%Y%m%dT%H%M%S}-{os.getpid()}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps(header_line(header)) + "\n")
    except OSError as error:
        raise BadInput(
            f"can't be written: {error.strerror}", where=f"--keep {folder}", remedy="choose another folder"
        ) from None
    return path


async def _serve(
    server: GatewayServer, trial: Trial, names: list[str], seed: int, logs: _Logs, redactor: Redactor
) -> None:
    await server.start()
    try:
        files = logs.open(redactor)
        async with server.session(trial, seed=seed) as session:
            sys.stderr.write(_INSTRUCTIONS.format(url=session.base_url, token=session.token, models=", ".join(names)))
            await _report_exchanges(session, files, redactor.also({"gateway-token": session.token}))
    finally:
        await server.stop()


async def _report_exchanges(session: GatewaySession, logs: Sequence[Path], redactor: Redactor) -> None:
    """Print a line for each finished exchange, and append it to the logs; the last ones too when it is stopped."""
    import asyncio

    from demeanor.core.redaction.values import redacted
    from demeanor.core.text.codec import encode

    reported: set[int] = set()

    def report() -> None:
        for exchange in session.exchanges():
            if exchange.number in reported or (exchange.response is None and exchange.error is None):
                continue
            reported.add(exchange.number)
            line = json.dumps(encode(redacted(exchange, redactor))) if logs else ""
            for log in logs:
                _append(log, line)
            sys.stderr.write(f"#{exchange.number} {exchange.dialect} {exchange.request.model}: {_summary(exchange)}\n")

    try:
        while True:
            report()
            await asyncio.sleep(0.2)
    finally:
        report()


def _append(log: Path, line: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def _summary(exchange: Exchange) -> str:
    if exchange.error is not None:
        return f"{exchange.error.reason} (HTTP {exchange.error.status})"
    calls = [call.name for call in exchange.response.calls] if exchange.response else []
    return f"calls {', '.join(calls)}" if calls else "text"


def _placeholder_trial(models: list[str], faults: tuple[Fault, ...]) -> Trial:
    """Return a trial for the session, which may use all models: the gateway serves trials, and here there is none."""
    scenario = Scenario(prompts=("",), faults=faults)
    nothing = Eval(name="person", policy=USUALLY_PASSES, scenario=scenario, checks=(), source=Source(path=Path()))
    subject = Subject(agent="person", model=models[0], settings={"also": models[1:]})
    return Trial(eval=nothing, subject=subject, number=1, timeout=0)
