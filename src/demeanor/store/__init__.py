"""The append-only store of runs, captures and verdicts.

Its packages offer what other packages use; there is nothing else.
"""

__all__: tuple[str, ...] = ()
