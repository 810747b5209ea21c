"""Imports results of other tools into the history: one module per format, which is detected by content.

Everything is read before anything is written, and each run is written in one transaction. Importing the same results
again adds nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.store.imports.common import (
        OUTPUT_LINES as OUTPUT_LINES,
        Imported as Imported,
        ImportOptions as ImportOptions,
        as_text as as_text,
        cells_of as cells_of,
        expect as expect,
        import_uid as import_uid,
        imported_run as imported_run,
        iso_time as iso_time,
        read_bytes as read_bytes,
        read_json as read_json,
        seconds_between as seconds_between,
    )
    from demeanor.store.imports.importer import (
        Written as Written,
        read_imports as read_imports,
        write_imports as write_imports,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "common": "ImportOptions Imported OUTPUT_LINES as_text cells_of expect import_uid imported_run iso_time"
        " read_bytes read_json seconds_between",
        "importer": "Written read_imports write_imports",
    },
)
