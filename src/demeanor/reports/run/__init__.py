"""The report of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.run.collection import (
        compare_collection as compare_collection,
        since_commit as since_commit,
        since_night as since_night,
    )
    from demeanor.reports.run.failure_groups import (
        Failure as Failure,
        failed_by_reason as failed_by_reason,
        void_by_reason as void_by_reason,
    )
    from demeanor.reports.run.junit import junit_report as junit_report
    from demeanor.reports.run.phrases import (
        LAYERS as LAYERS,
        MEANINGS as MEANINGS,
        POLICIES as POLICIES,
        ROUGH as ROUGH,
        held_by_layer as held_by_layer,
        known_bad as known_bad,
        policy_word as policy_word,
    )
    from demeanor.reports.run.plan import plan_json as plan_json, plan_text as plan_text
    from demeanor.reports.run.report import Collection as Collection, RunReport as RunReport
    from demeanor.reports.run.shards import (
        JoinedRun as JoinedRun,
        find_shards as find_shards,
        join_shards as join_shards,
        planned_shard as planned_shard,
        require_command as require_command,
        run_shard as run_shard,
    )
    from demeanor.reports.run.terminal import (
        cell_text as cell_text,
        details as details,
        exit_lines as exit_lines,
        terminal_report as terminal_report,
    )
    from demeanor.reports.run.to_json import json_pieces as json_pieces, json_report as json_report
    from demeanor.reports.run.workflow import (
        append_step_summary as append_step_summary,
        conclude as conclude,
        make_report as make_report,
        publish as publish,
        run_and_report as run_and_report,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "collection": "compare_collection since_commit since_night",
        "failure_groups": "Failure failed_by_reason void_by_reason",
        "junit": "junit_report",
        "phrases": "LAYERS MEANINGS POLICIES ROUGH held_by_layer known_bad policy_word",
        "plan": "plan_json plan_text",
        "report": "Collection RunReport",
        "shards": "JoinedRun find_shards join_shards planned_shard require_command run_shard",
        "terminal": "cell_text details exit_lines terminal_report",
        "to_json": "json_pieces json_report",
        "workflow": "append_step_summary conclude make_report publish run_and_report",
    },
)
