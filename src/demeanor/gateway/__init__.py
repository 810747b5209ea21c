"""The model server between agents and providers: it records every model call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.gateway.dialects import DIALECTS as DIALECTS
    from demeanor.gateway.dialects.dialect import Malformed as Malformed
    from demeanor.gateway.null import NullGateway as NullGateway
    from demeanor.gateway.server.budget import Budget as Budget, BudgetAccount as BudgetAccount, Budgets as Budgets
    from demeanor.gateway.server.http_server import GatewayServer as GatewayServer
    from demeanor.gateway.server.session import Session as Session

__getattr__ = lazy_names(
    __name__,
    {
        "dialects": "DIALECTS",
        "dialects.dialect": "Malformed",
        "null": "NullGateway",
        "server.budget": "Budget BudgetAccount Budgets",
        "server.http_server": "GatewayServer",
        "server.session": "Session",
    },
)
