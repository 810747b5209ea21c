"""What every coding agent is asked to show before its results are believed: ordinary evals, and the model they use.

`eval_conformance.py` holds one eval per ability (core/agent.py), `model.py` is the script of the model that all of them
are run with, and `cases.py` says which verdict each must have. `demeanor agents check NAME` runs them.
"""
