"""Results that other tools have kept, into the history: one module per format, told apart by their content.

Everything is read before anything is written, and each run is written whole or not at all. What is imported again is
known again.
"""

from demeanor.store.imports.imported import Imported, ImportOptions
from demeanor.store.imports.reading import read_imports
from demeanor.store.imports.writing import Written, write_imports

__all__ = ["ImportOptions", "Imported", "Written", "read_imports", "write_imports"]
