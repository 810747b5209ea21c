"""Evals written as folders: `scenario.toml`, and the `config.json` of Cline's smoke tests."""
