"""Evals as tasks: their workspace, prompt, and checks as a program."""
