"""The conformance suite: ordinary evals that show what a coding agent can do, and the scripted model that they use.

`eval_conformance.py` has one eval per ability (core/values/agent.py), `model.py` is the script of the model, and
`suite.py` runs the evals and checks the verdicts. `demeanor agents check NAME` runs the suite.
"""
