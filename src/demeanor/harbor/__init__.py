"""Whole tasks, run by the `harbor` engine: one process per attempt, and what it leaves read as a capture.

Harbor needs a Python and packages of its own, so it is never imported: it is a program that is found (tool.py), given
a job of one trial (job.py, roster.py), run to its end (attempt.py), and whose leavings are read (result.py).
"""
