"""Start the server, say where it is, and serve until it is stopped."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import signal
import socket
import sys
from dataclasses import dataclass

from aiohttp import web

from demeanor.core.values.errors import UsageError
from demeanor.web import DashboardSite, PageContext, ServerOptions, is_loopback, make_app

_NICENESS = 5
"""The server has a lower priority than runs on the same machine, which it must not slow down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeOptions:
    """Where to serve."""

    host: str = "127.0.0.1"
    """The address to listen on."""

    port: int = 8765
    """The port; 0 for any free one."""

    notes: bool = False
    """Whether notes may be written from the browser."""

    names: tuple[str, ...] = ()
    """Further names of this machine in the Host header."""


def serve(context: PageContext, options: ServeOptions) -> None:
    """Serve until Ctrl-C."""
    context.history()  # an unusable store is an error before anything is served
    os.nice(_NICENESS)
    asyncio.run(_serve(context, options))


async def _serve(context: PageContext, options: ServeOptions) -> None:
    runner, address = await start(context, options)
    stop = _stop_on_signals()
    try:
        sys.stderr.write(f"demeanor: serving {context.config.root} at {address}\ndemeanor: stop with Ctrl-C\n")
        sys.stderr.flush()
        await stop.wait()
    finally:
        await runner.cleanup()


def _stop_on_signals() -> asyncio.Event:
    """An event that Ctrl-C and SIGTERM set, also where the shell made this process ignore them, and SIGHUP, unless
    `nohup` made this process ignore it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop.set)
    return stop


async def start(context: PageContext, options: ServeOptions) -> tuple[web.AppRunner, str]:
    """Start serving; returns what to clean up, and the address to open in a browser, with the token if there is one."""
    # Notes need a token on this machine, too: its other users can reach the port.
    token = None if is_loopback(options.host) and not options.notes else secrets.token_urlsafe(24)
    context.form_token = secrets.token_urlsafe(24) if options.notes else ""
    server_options = ServerOptions(token=token, names=(options.host, *options.names), form_token=context.form_token)
    app = make_app(DashboardSite(context), server_options)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, options.host, options.port)
        await site.start()
    except OSError as error:
        await runner.cleanup()
        raise UsageError(
            f"--host {options.host} --port {options.port}: can't listen there: {error.strerror or error}\n"
            "  → choose another port: --port 0 takes any that is free"
        ) from None
    host, port = runner.addresses[0][:2]
    return runner, f"http://{_host_of_link(host)}:{port}/" + (f"?token={token}" if token else "")


def _host_of_link(host: str) -> str:
    """The host in a link to this address; all interfaces (0.0.0.0, ::) are reached by the name of this machine."""
    if ipaddress.ip_address(host).is_unspecified:
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
