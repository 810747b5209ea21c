"""Creates the gateway of a run: on this machine, or on a worker of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from demeanor.config import Limit
from demeanor.core.values.ports import Gateway
from demeanor.core.values.subject import Subject
from demeanor.gateway import NullGateway
from demeanor.runner.catalog import Catalog

if TYPE_CHECKING:
    from demeanor.core.values.trial import Trial
    from demeanor.gateway import BudgetAccount
    from demeanor.gateway.cassette import PrefixComparison, PrefixReplay
    from demeanor.gateway.models import Upstream


def make_gateway(
    catalog: Catalog,
    subjects: Iterable[Subject],
    limits: Mapping[str, Limit],
    *,
    replay: Callable[[], Upstream] | None = None,
    tasks: bool = False,
    others: Sequence[str] | None = None,
    parent_account: Callable[[Trial], BudgetAccount] | None = None,
) -> Gateway:
    """The gateway for these subjects; imported only if an agent of them needs a model.

    `limits` are the budgets by scope. `replay` makes the model that answers for all others. `tasks` says that engines
    start some of the agents. `others` are the models that features ask; None if none of them needs the gateway.
    `parent_account` is as for `GatewayServer`.
    """
    asking = [subject for subject in subjects if catalog.of(subject).dialect is not None]
    models = {model for subject in asking for model in (subject.model, *catalog.also(subject.agent))}
    models |= {*(others or ())}
    if not models and others is None:
        return NullGateway()
    from demeanor.gateway import Budget, Budgets, GatewayServer

    prefix_of = _prefix_replays(catalog)
    budgets = Budgets(**{scope: Budget(usd=limit.usd, tokens=limit.tokens) for scope, limit in limits.items()})
    if replay is not None:
        replayed = replay()
        return GatewayServer(
            lambda name: replayed,
            budgets=budgets,
            limits=catalog.config.gateway_limits,
            parent_account=parent_account,
            prefix_of=prefix_of,
        )
    served = {model: catalog.models.model(model) for model in models}
    if tasks:  # the adapters of engines strip everything up to the slash
        served |= {
            model.rpartition("/")[2]: served[model] for model in models if model.rpartition("/")[2] not in served
        }
    return GatewayServer(
        served,
        budgets=budgets,
        limits=catalog.config.gateway_limits,
        configured=catalog.models.is_configured,
        parent_account=parent_account,
        prefix_of=prefix_of,
    )


def _prefix_replays(catalog: Catalog) -> Callable[[Trial], PrefixReplay | None]:
    """Makes the replay of the prefix that a trial starts from; imported only if one does."""
    comparison: list[PrefixComparison] = []

    def replay(trial: Trial) -> PrefixReplay | None:
        if trial.eval.scenario.start is None:
            return None
        if not comparison:
            from demeanor.gateway.cassette import Normaliser, PrefixComparison

            comparison.append(PrefixComparison(redactor=catalog.redactor, normaliser=Normaliser(catalog.config.replay)))
        return comparison[0].replay(trial)

    return replay
