"""What stored exchanges would cost at the present prices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from demeanor.core.values.history import ModelUse
from demeanor.core.values.subject import Subject
from demeanor.gateway import Price, cost
from demeanor.runner import Catalog


def present_cost(catalog: Catalog, subject: Subject, uses: Iterable[ModelUse]) -> float | None:
    """The sum in US dollars; None if a price or a token count is unknown.

    An exchange without token counts, such as a refused request, costs what it cost at the time.
    """
    own = catalog.models.model(subject.model).price
    others = _prices_of_other_models(catalog, subject)
    costs = [
        use.cost_usd
        if use.usage.input is None and use.usage.output is None
        else cost(use.usage, others.get(use.model, own))
        for use in uses
    ]
    return None if None in costs else math.fsum(amount for amount in costs if amount is not None)


def _prices_of_other_models(catalog: Catalog, subject: Subject) -> Mapping[str, Price | None]:
    """The prices of the models that the agent may request besides its subject's, by all their names."""
    prices: dict[str, Price | None] = {}
    for name in catalog.also(subject.agent):
        upstream = catalog.models.model(name)
        prices |= dict.fromkeys((name, str(getattr(upstream, "model", name))), upstream.price)
    return prices
