"""The native agent: a small tool-using coding agent, a program of its own.

It talks to a model over the OpenAI chat API like any other agent, and knows nothing of the rest of Holdfast: the
standard library is all it needs. `python -m holdfast.native --help` shows how a person starts it.
"""
