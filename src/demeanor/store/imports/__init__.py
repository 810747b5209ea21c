"""Imports results of other tools into the history: one module per format, which is detected by content.

Everything is read before anything is written, and each run is written in one transaction. Importing the same results
again adds nothing.
"""

from demeanor.store.imports.common import Imported, ImportOptions
from demeanor.store.imports.importer import Written, read_imports, write_imports

__all__ = ["ImportOptions", "Imported", "Written", "read_imports", "write_imports"]
