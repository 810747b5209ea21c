"""Attempts on a Dask cluster: the executor, its workers, and `demeanor cluster`."""
