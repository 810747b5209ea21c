"""The price list: which models have a listed price, and how it is read."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from demeanor.core.values.exchange import Usage
from demeanor.gateway.models.price_list import listed_price, price_list_version
from demeanor.gateway.models.prices import cost

OPENAI = "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("base_url", "model"),
    [
        (OPENAI, "gpt-5"),
        (OPENAI, "gpt-4o-mini"),
        ("https://api.anthropic.com", "claude-sonnet-4-5"),
        ("https://generativelanguage.googleapis.com", "gemini-2.5-pro"),
        ("https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5"),
    ],
)
def test_models_of_well_known_providers_have_a_price(base_url: str, model: str) -> None:
    """Output is dearer than input, and cached input cheaper."""
    price = listed_price(base_url, model)
    assert price is not None
    assert price.cache_read is not None
    assert 0 < price.cache_read < price.input < price.output


def test_a_long_context_is_dearer() -> None:
    """Tiers of the list become tiers of the price."""
    price = listed_price("https://generativelanguage.googleapis.com", "gemini-2.5-pro")
    assert price is not None
    short, long = (cost(Usage(input=tokens, output=0), price) for tokens in (200_000, 400_000))
    assert short
    assert long == pytest.approx(4 * short)


@pytest.mark.parametrize(
    ("base_url", "model"),
    [
        (OPENAI, "no-such-model"),
        (OPENAI, "gpt-5" + 200 * "-x"),
        ("http://127.0.0.1:8080/v1", "gpt-5"),
        ("https://proxy.example/v1", "gpt-5"),
    ],
)
def test_other_models_and_other_servers_have_none(base_url: str, model: str) -> None:
    """A proxy may charge something else; a very long name is not looked up."""
    assert listed_price(base_url, model) is None


def test_the_version_is_that_of_the_package() -> None:
    """As recorded with a run."""
    assert price_list_version() == f"genai-prices {version('genai-prices')}"
