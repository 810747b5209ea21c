"""The pipeline of a run: catalog, plan, assemble, execute, schedule, attempt."""
