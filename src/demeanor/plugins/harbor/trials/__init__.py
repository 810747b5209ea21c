"""Whole tasks, run by the real `harbor`: one process per attempt, whose results are read as a capture.

Harbor needs its own Python and packages, so it is never imported. It is a program that gets a job of one trial (job.py,
agents.py), is run to its end (attempt.py), and whose result folder is read (result.py, to_capture.py).
"""
