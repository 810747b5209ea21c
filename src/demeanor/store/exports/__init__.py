"""What was kept, for other tools: tables of attempts (CSV, Parquet) and trajectories (ATIF)."""
