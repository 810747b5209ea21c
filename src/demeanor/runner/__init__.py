"""The pipeline of a run: catalog → plan → prepare → execute → result; see execute.py."""
