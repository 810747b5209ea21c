"""Cassettes: the recorded exchanges of one trial, and a model that answers from them.

A cassette is made from a trial's capture (`recording`), stored as a file (`cassette`, `folder`), and replayed by an
upstream (`replay`) that compares requests by their normalised form (`normalise`, `rules`, `match`). It contains no
paths of the machine it was recorded on (`placeholders`), so it can be replayed on any other.
"""
