"""The canary token: repeatable, different in each trial, and never in the way of the adapter."""

from __future__ import annotations

from demeanor.core.values.agent import Orders
from demeanor.core.values.canary import FILE, VARIABLE, canary, with_canary
from demeanor.core.values.process import Launch


def test_a_token_depends_on_the_seed_only():
    """So a repeated run has the same ones."""
    assert canary(1) == canary(1) != canary(2)
    assert canary(1).startswith("rdt_")


def test_every_program_gets_the_token_in_its_environment_and_home():
    """All launches of the agent."""
    orders = Orders(launches=(Launch(argv=("a",)), Launch(argv=("b",))))
    found = with_canary(orders, "rdt_x")
    assert [launch.env[VARIABLE] for launch in found.launches] == ["rdt_x", "rdt_x"]
    assert b"token = rdt_x" in found.home_files[FILE]


def test_variables_and_files_of_the_adapter_take_precedence():
    """An agent that really uses the name keeps its value."""
    orders = Orders(launches=(Launch(argv=("a",), env={VARIABLE: "own"}),), home_files={FILE: b"own"})
    found = with_canary(orders, "rdt_x")
    assert (found.launches[0].env[VARIABLE], found.home_files[FILE]) == ("own", b"own")
