"""`demeanor harbor images`: list, pull, import and remove the images that tasks are built on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from demeanor.core.text.wording import count
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode
from demeanor.plugins.harbor.environments.task_images import progress_lines
from demeanor.plugins.harbor.images.cache import ImageCache
from demeanor.plugins.harbor.images.pull import import_archive, import_layout, pull

_DAY = 86400
_WORDS = {"list": "no further words", "pull": "NAME", "import": "PATH NAME", "prune": "no further words"}
"""What follows the name of each action."""


def manage_images(words: Sequence[str], *, as_json: bool, max_bytes: int) -> ExitCode:
    """List, pull, import or remove images."""
    cache = ImageCache.of_user(os.environ)
    match words:
        case [] | ["list"]:
            _list(cache, as_json=as_json)
        case ["pull", name]:
            image = pull(name, cache, os.environ, progress_lines())
            print(f"{image.name} is ready: {image.digest}")
        case ["import", path, name]:
            source = Path(path)
            image = (import_layout if source.is_dir() else import_archive)(source, name, cache)
            print(f"{image.name} is ready: {image.digest}")
        case ["prune"]:
            print(f"removed {_megabytes(cache.prune(max_bytes))} from {cache.folder}")
        case [action, *rest]:
            arguments = " ".join(rest) or "nothing"
            problem = f"images {action}: expected {_WORDS[action]}, found {arguments}" if action in _WORDS else ""
            raise UsageError(
                f"{problem or f'unknown action: {action}'}\n"
                "  → demeanor harbor images list | pull NAME | import PATH NAME | prune [--max-gb N]"
            )
    return ExitCode.ACCEPTED


def _list(cache: ImageCache, *, as_json: bool) -> None:
    roots = {root.key: root for root in cache.roots()}
    images = [image for image in cache.images() if image.key in roots]
    builds = [root for key, root in roots.items() if key not in {image.key for image in images}]
    if as_json:
        rows = [{"name": image.name, "digest": image.digest, "bytes": roots[image.key].size} for image in images]
        built = [{"origin": root.origin, "bytes": root.size} for root in builds]
        document = {"folder": str(cache.folder), "bytes": cache.size(), "images": rows, "builds": built}
        print(json.dumps(document, indent=2))
        return
    lines = [("IMAGE", "SIZE", "LAST USED", "DIGEST")]
    for image in images:
        root = roots[image.key]
        lines.append((image.name, _megabytes(root.size), _ago(root.used), image.digest[:19]))
    lines += [(root.origin, _megabytes(root.size), _ago(root.used), "built") for root in builds]
    if len(lines) > 1:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        print(f"\n{_megabytes(cache.size())} in {cache.folder}")
    else:
        print("no images yet\n  → demeanor harbor images pull NAME")


def _ago(used: float) -> str:
    days = int((time.time() - used) // _DAY)
    return "today" if days <= 0 else f"{count(days, 'day')} ago"


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.1f} MB"
