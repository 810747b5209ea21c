"""Exports for other tools: attempts (CSV, Parquet), trajectories (ATIF) and evals as Harbor tasks."""
