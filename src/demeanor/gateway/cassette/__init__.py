"""Cassettes: the recorded exchanges of one trial, and a model that answers from them.

A cassette is made of a trial's capture (`record`), kept as a file (`cassette`, `folder`), and played by an upstream
(`replay`) which compares requests by what they mean (`normalise`, `match`). It holds nothing of the bench that it was
recorded on (`places`), so that it can be played on any other.
"""
