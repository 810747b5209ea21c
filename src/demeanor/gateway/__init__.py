"""The model server between agents and providers: it records every model call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.gateway.cassette.audit import CassetteProblem as CassetteProblem, audit as audit
    from demeanor.gateway.cassette.cassette import (
        BadCassette as BadCassette,
        Cassette as Cassette,
        read_cassette as read_cassette,
        write_cassette as write_cassette,
    )
    from demeanor.gateway.cassette.folder import (
        CassetteFolder as CassetteFolder,
        write_cassette_file as write_cassette_file,
    )
    from demeanor.gateway.cassette.normalise import Normaliser as Normaliser
    from demeanor.gateway.cassette.prefix_file import (
        prefix_of as prefix_of,
        read_prefix as read_prefix,
        record_prefixes as record_prefixes,
        renew_prefix as renew_prefix,
    )
    from demeanor.gateway.cassette.prefix_replay import (
        PrefixComparison as PrefixComparison,
        PrefixReplay as PrefixReplay,
    )
    from demeanor.gateway.cassette.recording import Recorder as Recorder, scenario_fingerprint as scenario_fingerprint
    from demeanor.gateway.cassette.replay import ReplayModel as ReplayModel
    from demeanor.gateway.cassette.rules import mask_volatile as mask_volatile
    from demeanor.gateway.contract import (
        ContractOutcome as ContractOutcome,
        Converter as Converter,
        probe_url as probe_url,
    )
    from demeanor.gateway.dialects import DIALECTS as DIALECTS
    from demeanor.gateway.dialects.dialect import Malformed as Malformed
    from demeanor.gateway.local.fetch import FetchProgress as FetchProgress, fetch as fetch
    from demeanor.gateway.local.llama_process import no_runtime as no_runtime, runtime_installed as runtime_installed
    from demeanor.gateway.local.model import missing_requirement as missing_requirement
    from demeanor.gateway.local.weights import (
        DEFAULT_MODEL as DEFAULT_MODEL,
        MAX_CONCURRENT_CHATS as MAX_CONCURRENT_CHATS,
        WEIGHTS as WEIGHTS,
        Weights as Weights,
        WeightsCache as WeightsCache,
        weights_cache as weights_cache,
        weights_named as weights_named,
    )
    from demeanor.gateway.models.prices import Price as Price, cost as cost
    from demeanor.gateway.models.provider import Provider as Provider
    from demeanor.gateway.models.rate_limit import RateLimiter as RateLimiter
    from demeanor.gateway.models.registry import (
        ModelRegistry as ModelRegistry,
    )
    from demeanor.gateway.models.upstream import Upstream as Upstream
    from demeanor.gateway.null import NullGateway as NullGateway
    from demeanor.gateway.script.tools import tool_arguments as tool_arguments
    from demeanor.gateway.script.turn import (
        Answer as Answer,
        ScriptOutput as ScriptOutput,
        Turn as Turn,
        Unable as Unable,
        user_text as user_text,
    )
    from demeanor.gateway.server.budget import Budget as Budget, BudgetAccount as BudgetAccount, Budgets as Budgets
    from demeanor.gateway.server.http_server import GatewayServer as GatewayServer
    from demeanor.gateway.server.session import Session as Session

__getattr__ = lazy_names(
    __name__,
    {
        "cassette.audit": "CassetteProblem audit",
        "cassette.cassette": "BadCassette Cassette read_cassette write_cassette",
        "cassette.folder": "CassetteFolder write_cassette_file",
        "cassette.normalise": "Normaliser",
        "cassette.prefix_file": "prefix_of read_prefix record_prefixes renew_prefix",
        "cassette.prefix_replay": "PrefixComparison PrefixReplay",
        "cassette.recording": "Recorder scenario_fingerprint",
        "cassette.replay": "ReplayModel",
        "cassette.rules": "mask_volatile",
        "contract": "ContractOutcome Converter probe_url",
        "dialects.dialect": "Malformed",
        "dialects": "DIALECTS",
        "local.fetch": "FetchProgress fetch",
        "local.llama_process": "no_runtime runtime_installed",
        "local.model": "missing_requirement",
        "local.weights": "DEFAULT_MODEL MAX_CONCURRENT_CHATS WEIGHTS Weights WeightsCache weights_cache weights_named",
        "models.prices": "Price cost",
        "models.provider": "Provider",
        "models.rate_limit": "RateLimiter",
        "models.registry": "ModelRegistry",
        "models.upstream": "Upstream",
        "null": "NullGateway",
        "script.tools": "tool_arguments",
        "script.turn": "Answer ScriptOutput Turn Unable user_text",
        "server.budget": "Budget BudgetAccount Budgets",
        "server.http_server": "GatewayServer",
        "server.session": "Session",
    },
)
