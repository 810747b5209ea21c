"""The native agent: a small tool-using coding agent, a program of its own.

It talks to a model over the OpenAI chat API like any other agent, and knows nothing of the rest of Demeanor: the
standard library is all it needs. `python -m demeanor.native --help` shows how a person starts it.
"""
