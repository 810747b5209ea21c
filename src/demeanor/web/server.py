"""The HTTP server: answers are made in threads, so that a slow query never stalls other readers."""

from __future__ import annotations

import asyncio
import hmac
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from aiohttp import web

from demeanor.core.values.errors import DemeanorError, StoreError, StoreUnavailable, UnknownName
from demeanor.web.links import NOTE_PATH, ROUTES, STOP_PATH, ServedLinks
from demeanor.web.security import guard, headers_of, same_origin
from demeanor.web.templating import SCRIPT, STYLE, render, static_text

_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
_THREADS = 4
_COMPRESSED_FROM = 4096
_LARGEST_FORM = 64 * 1024
_TABLE_TYPES = {"csv": "text/csv", "json": "application/json"}
_STATIC = {STYLE: "text/css", SCRIPT: "text/javascript", "icon.svg": "image/svg+xml"}


class Site(Protocol):
    """What the server shows. Its methods are called in threads."""

    def page(self, name: str, parts: Mapping[str, str], query: Mapping[str, str]) -> str:
        """One page; raises UnknownName if there is no such thing."""
        ...

    def table(self, name: str, parts: Mapping[str, str], query: Mapping[str, str], form: str) -> str:
        """The rows of a page as `csv` or `json`; raises UsageError if it has none."""
        ...

    def changes(self) -> str:
        """A text that changes whenever pages may have."""
        ...

    def stop_run(self, fields: Mapping[str, str]) -> str:
        """End a run; returns where to go then. Raises UsageError if it does not run on this machine."""
        ...

    def add_note(self, fields: Mapping[str, str]) -> str:
        """Store a note from a form; returns the address of its trial. Raises UsageError for invalid fields."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerOptions:
    """How to serve."""

    token: str | None = None
    """What a browser must present once; None on this machine only."""

    names: tuple[str, ...] = ()
    """Further names of this machine in the Host header."""

    form_token: str = ""
    """What a form must contain to write a note; empty if notes can't be written."""

    poll_seconds: float = 1.0
    """How often live pages look for changes."""


def make_app(site: Site, options: ServerOptions) -> web.Application:
    """The application with all its routes."""
    app = web.Application(middlewares=[guard(token=options.token, names=options.names)], client_max_size=_LARGEST_FORM)
    # With no-referrer browsers send forms without their origin, which writing requires.
    app.on_response_prepare.append(headers_of({"Referrer-Policy": "same-origin"} if options.form_token else {}))
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="pages")

    async def stop(_app: web.Application) -> None:
        pool.shutdown(wait=False, cancel_futures=True)

    app.on_cleanup.append(stop)
    stopping = asyncio.Event()

    async def stop_streams(_app: web.Application) -> None:
        stopping.set()

    app.on_shutdown.append(stop_streams)
    for name, path in ROUTES.items():
        app.router.add_get(path, _page_handler(site, pool, name))
    app.router.add_get("/static/{name}", _static)
    app.router.add_get("/events", _events_handler(site, pool, options, stopping))
    if options.form_token:
        app.router.add_post(NOTE_PATH, _form_handler(site.add_note, pool, options.form_token))
        app.router.add_post(STOP_PATH, _form_handler(site.stop_run, pool, options.form_token))
    app.router.add_get("/{rest:.*}", _nothing)
    return app


def _page_handler(site: Site, pool: ThreadPoolExecutor, name: str) -> _Handler:
    async def handle(request: web.Request) -> web.Response:
        loop = asyncio.get_running_loop()
        parts, query = dict(request.match_info), dict(request.query)
        form = query.pop("format", "")
        if form in _TABLE_TYPES:
            status, text = await loop.run_in_executor(pool, _answered, lambda: site.table(name, parts, query, form))
            return _file(text, name, form) if status == 200 else _html(text, status)
        status, text = await loop.run_in_executor(pool, _answered, lambda: site.page(name, parts, query))
        return _html(text, status)

    return handle


def _answered(make: Callable[[], str]) -> tuple[int, str]:
    """200 and the text, or another status and a page that says what is wrong."""
    try:
        return 200, make()
    except UnknownName as error:
        return 404, _problem("Not found", error.without_place)  # a path of this machine means nothing to a reader
    except StoreUnavailable as error:
        return 503, _in_terminal("The store is not available", error)
    except StoreError as error:
        return 500, _in_terminal("The store can't be read", error)
    except DemeanorError as error:
        return 400, _problem("This can't be shown", str(error))
    except Exception:  # noqa: BLE001 - one page must not end the server; the traceback goes to the terminal
        sys.stderr.write(traceback.format_exc())
        return 500, _problem("A bug in Demeanor", "The terminal of `demeanor serve` shows the traceback.")


def _in_terminal(title: str, error: StoreError) -> str:
    """A page for an error whose message contains a path or an address of this machine: the terminal shows it."""
    sys.stderr.write(f"demeanor: {error}\n")
    return _problem(title, "The terminal of `demeanor serve` shows the reason.")


def _form_handler(act: Callable[[Mapping[str, str]], str], pool: ThreadPoolExecutor, form_token: str) -> _Handler:
    """The routes that change something. The form must come from one of our own pages, and contain their token."""

    async def handle(request: web.Request) -> web.Response:
        if not same_origin(request):
            return _html(_problem("Refused", "The form was not sent by a page of this server."), 403)
        fields = {name: value for name, value in (await request.post()).items() if isinstance(value, str)}
        token = fields.pop("form_token", "")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), form_token.encode()):
            return _html(_problem("Refused", "The form is out of date: reload the page."), 403)
        loop = asyncio.get_running_loop()
        status, text = await loop.run_in_executor(pool, _answered, lambda: act(fields))
        if status == 200:
            return web.Response(status=303, headers={"Location": text})
        return _html(text, status)

    return handle


def _file(text: str, name: str, form: str) -> web.Response:
    """A table that a browser saves instead of showing it."""
    headers = {"Content-Disposition": f'attachment; filename="demeanor-{name}.{form}"'}
    return web.Response(text=text, content_type=_TABLE_TYPES[form], charset="utf-8", headers=headers)


def _problem(title: str, text: str) -> str:
    return render("problem.html", ServedLinks(), title=title, text=text, here="")


def _html(text: str, status: int) -> web.Response:
    response = web.Response(text=text, status=status, content_type="text/html")
    if len(text) > _COMPRESSED_FROM:
        response.enable_compression()
    return response


async def _static(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name not in _STATIC:
        return await _nothing(request)
    return web.Response(text=static_text(name), content_type=_STATIC[name], headers={"Cache-Control": "no-cache"})


async def _nothing(request: web.Request) -> web.Response:
    return _html(_problem("Not found", f"There is no page {request.path!r}."), 404)


def _events_handler(site: Site, pool: ThreadPoolExecutor, options: ServerOptions, stopping: asyncio.Event) -> _Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            async for text in _changes(site, pool, options.poll_seconds, stopping):
                await response.write(f"data: {text}\n\n".encode() if text else b":\n\n")
        except ConnectionError:
            pass  # the reader left
        return response

    return handle


async def _changes(site: Site, pool: ThreadPoolExecutor, seconds: float, stopping: asyncio.Event) -> AsyncIterator[str]:
    """The state of the store, each time it changes, beginning with the present one."""
    loop = asyncio.get_running_loop()
    shown = None
    while not stopping.is_set():
        try:
            state = await loop.run_in_executor(pool, site.changes)
        except StoreError:
            state = shown or ""  # try again; pages say what is wrong
        if state != shown:
            shown = state
            yield state
        else:
            yield ""  # also notices a reader that left
        try:
            await asyncio.wait_for(stopping.wait(), seconds)
        except TimeoutError:
            continue
