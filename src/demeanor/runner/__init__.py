"""The pipeline of a run: catalog → plan → prepare → execute → result; see execution.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.runner.agent_files import project_agent_files as project_agent_files
    from demeanor.runner.agent_start import (
        START_TIMEOUT as START_TIMEOUT,
        start_agents as start_agents,
        start_eval as start_eval,
        start_subjects as start_subjects,
    )
    from demeanor.runner.assemble import (
        check_sandbox as check_sandbox,
        open_sandbox as open_sandbox,
        run_info as run_info,
    )
    from demeanor.runner.attempt import (
        AttemptContext as AttemptContext,
        capture_errors as capture_errors,
        make_attempt as make_attempt,
        path_tools as path_tools,
    )
    from demeanor.runner.budget import (
        BudgetSpent as BudgetSpent,
        RunBudget as RunBudget,
        Spending as Spending,
        budget_limits as budget_limits,
        check_budgets as check_budgets,
        out_of_money as out_of_money,
    )
    from demeanor.runner.cassettes import (
        cassette_problems as cassette_problems,
        cassette_text as cassette_text,
        shown_path as shown_path,
    )
    from demeanor.runner.catalog import (
        BARE_AGENTS as BARE_AGENTS,
        NATIVE as NATIVE,
        SCRIPTED as SCRIPTED,
        Catalog as Catalog,
    )
    from demeanor.runner.checks import Checks as Checks, build_workspace as build_workspace, open_checks as open_checks
    from demeanor.runner.engines import (
        Engine as Engine,
        EngineRun as EngineRun,
        EngineStatus as EngineStatus,
        ShowProgress as ShowProgress,
        TaskOptions as TaskOptions,
        engine_names as engine_names,
        installed_engines as installed_engines,
        not_remote as not_remote,
        plan_engines as plan_engines,
        require_engines as require_engines,
        task_environment as task_environment,
        tasks_refused as tasks_refused,
    )
    from demeanor.runner.execution import (
        PreparedRun as PreparedRun,
        RunResult as RunResult,
        execute as execute,
        execute_async as execute_async,
        execute_together as execute_together,
        prepare as prepare,
    )
    from demeanor.runner.executors import (
        ExecutorModule as ExecutorModule,
        ExecutorRun as ExecutorRun,
        LocalExecutor as LocalExecutor,
        WrappedExecutor as WrappedExecutor,
        executor_module as executor_module,
        installed_executors as installed_executors,
        shared_executor as shared_executor,
    )
    from demeanor.runner.features import (
        Services as Services,
        asked_models as asked_models,
        run_features as run_features,
        sessions_of as sessions_of,
    )
    from demeanor.runner.gateways import make_gateway as make_gateway
    from demeanor.runner.hooks import tell_decisions as tell_decisions
    from demeanor.runner.judges import (
        Asking as Asking,
        Judges as Judges,
        TrialJudge as TrialJudge,
        judge_spent as judge_spent,
    )
    from demeanor.runner.judging import JudgingContext as JudgingContext, judged as judged
    from demeanor.runner.offline_tests import self_tests as self_tests
    from demeanor.runner.own_files import tree_of as tree_of
    from demeanor.runner.past_sessions import (
        choose_session as choose_session,
        read_sessions as read_sessions,
        session_files as session_files,
    )
    from demeanor.runner.plan import (
        DEFAULT_TIMEOUT as DEFAULT_TIMEOUT,
        plan_evals as plan_evals,
        plan_run as plan_run,
        with_faults as with_faults,
    )
    from demeanor.runner.prefixes import (
        ForkedTrial as ForkedTrial,
        load_prefixes as load_prefixes,
        read_start as read_start,
        renew as renew,
        save_prefix as save_prefix,
        stale_reason as stale_reason,
    )
    from demeanor.runner.project_files import uses_project_files as uses_project_files
    from demeanor.runner.sandbox import (
        MAKERS as MAKERS,
        Level as Level,
        no_isolation as no_isolation,
        probe_cache as probe_cache,
        probed_sandbox as probed_sandbox,
        verified_sandbox as verified_sandbox,
    )
    from demeanor.runner.schedule import Stop as Stop
    from demeanor.runner.secrets import known_secrets as known_secrets, strings_of as strings_of
    from demeanor.runner.selection import (
        choose_evals as choose_evals,
        collect_evals as collect_evals,
        eval_paths as eval_paths,
        select_evals as select_evals,
        usable_evals as usable_evals,
    )
    from demeanor.runner.shards import shard_of as shard_of
    from demeanor.runner.template import (
        TemplateCache as TemplateCache,
        build_template as build_template,
        check_template as check_template,
        temporary_templates as temporary_templates,
    )
    from demeanor.runner.traffic import (
        exchange_rounds as exchange_rounds,
        header_line as header_line,
        traffic_header as traffic_header,
    )
    from demeanor.runner.trial_so_far import with_agent_log as with_agent_log
    from demeanor.runner.ui import UI as UI

__getattr__ = lazy_names(
    __name__,
    {
        "agent_files": "project_agent_files",
        "agent_start": "start_agents start_eval START_TIMEOUT start_subjects",
        "assemble": "check_sandbox open_sandbox run_info",
        "attempt": "AttemptContext capture_errors make_attempt path_tools",
        "budget": "budget_limits BudgetSpent check_budgets out_of_money RunBudget Spending",
        "cassettes": "cassette_problems cassette_text shown_path",
        "catalog": "BARE_AGENTS Catalog NATIVE SCRIPTED",
        "checks": "build_workspace Checks open_checks",
        "engines": (
            "Engine engine_names EngineRun EngineStatus installed_engines not_remote "
            "plan_engines require_engines ShowProgress task_environment TaskOptions tasks_refused"
        ),
        "execution": "execute execute_async execute_together prepare PreparedRun RunResult",
        "executors": "executor_module ExecutorModule ExecutorRun installed_executors LocalExecutor shared_executor"
        " WrappedExecutor",
        "features": "asked_models run_features Services sessions_of",
        "gateways": "make_gateway",
        "hooks": "tell_decisions",
        "judges": "Asking judge_spent Judges TrialJudge",
        "judging": "judged JudgingContext",
        "offline_tests": "self_tests",
        "own_files": "tree_of",
        "past_sessions": "choose_session read_sessions session_files",
        "plan": "DEFAULT_TIMEOUT plan_evals plan_run with_faults",
        "prefixes": "ForkedTrial load_prefixes read_start renew save_prefix stale_reason",
        "project_files": "uses_project_files",
        "sandbox": "Level MAKERS no_isolation probe_cache probed_sandbox verified_sandbox",
        "schedule": "Stop",
        "secrets": "known_secrets strings_of",
        "selection": "choose_evals collect_evals eval_paths select_evals usable_evals",
        "shards": "shard_of",
        "template": "build_template check_template TemplateCache temporary_templates",
        "traffic": "exchange_rounds header_line traffic_header",
        "trial_so_far": "with_agent_log",
        "ui": "UI",
    },
)
