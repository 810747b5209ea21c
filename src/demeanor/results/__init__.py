"""From the store to values: runs, nights, baselines, tallies, failure groups, steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.results.baselines import (
        baselines_of as baselines_of,
        edited_since as edited_since,
        eval_hashes as eval_hashes,
        latest_nights as latest_nights,
        recent_correlation as recent_correlation,
    )
    from demeanor.results.calibrations import (
        COUNTS as COUNTS,
        DRIFTED as DRIFTED,
        TRIALS as TRIALS,
        CorrectedRate as CorrectedRate,
        corrected_rate as corrected_rate,
        drifted_judges as drifted_judges,
        held_out_labels as held_out_labels,
        lost_calibrations as lost_calibrations,
        uncalibrated as uncalibrated,
    )
    from demeanor.results.ci_runs import (
        fetch_nights as fetch_nights,
        import_ci_run as import_ci_run,
        nightly_workflows as nightly_workflows,
        parse_ci_run as parse_ci_run,
    )
    from demeanor.results.expected_cost import (
        CellEstimate as CellEstimate,
        PlanEstimate as PlanEstimate,
        estimate_plan as estimate_plan,
        trial_costs as trial_costs,
    )
    from demeanor.results.find_trial import find_record as find_record
    from demeanor.results.fork_scan import SCAN_FILE as SCAN_FILE, stored_scan as stored_scan
    from demeanor.results.history import (
        history_of_run as history_of_run,
        keep_decisions as keep_decisions,
        open_history_of as open_history_of,
        open_project_history as open_project_history,
    )
    from demeanor.results.labels import (
        Label as Label,
        labels_of_file as labels_of_file,
        labels_of_notes as labels_of_notes,
    )
    from demeanor.results.nights import (
        LAST_NIGHTS as LAST_NIGHTS,
        CountedNights as CountedNights,
        all_nights as all_nights,
        cells_of_nights as cells_of_nights,
        counted_nights as counted_nights,
        night_filter as night_filter,
        nights_until as nights_until,
        recent_cells as recent_cells,
        uncounted as uncounted,
    )
    from demeanor.results.promotions import (
        manual_promotion as manual_promotion,
        promoted_by_hand as promoted_by_hand,
        unrecorded_promotions as unrecorded_promotions,
    )
    from demeanor.results.resume import (
        Stale as Stale,
        resumed_request as resumed_request,
        stale_attempts as stale_attempts,
    )
    from demeanor.results.runs import (
        StoredRun as StoredRun,
        find_past_run as find_past_run,
        find_stored_run as find_stored_run,
        request_of_run as request_of_run,
        runs_before as runs_before,
        runs_with_eval as runs_with_eval,
    )
    from demeanor.results.sent_prompt import (
        LocatedInstruction as LocatedInstruction,
        changed_instructions as changed_instructions,
        locate as locate,
        sent_instructions as sent_instructions,
    )
    from demeanor.results.tallies import (
        case_groups as case_groups,
        despite_lost as despite_lost,
        mean_rate as mean_rate,
        summary as summary,
        tally as tally,
        tally_trials as tally_trials,
    )
    from demeanor.results.trajectory_diff import (
        Pair as Pair,
        align as align,
        distance as distance,
        first_divergence as first_divergence,
        way as way,
    )
    from demeanor.results.trial_steps import (
        TrialSteps as TrialSteps,
        load_capture as load_capture,
        load_steps as load_steps,
        read_steps as read_steps,
        user_replies as user_replies,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "baselines": "baselines_of edited_since eval_hashes latest_nights recent_correlation",
        "calibrations": (
            "COUNTS CorrectedRate DRIFTED TRIALS corrected_rate drifted_judges held_out_labels lost_calibrations "
            "uncalibrated"
        ),
        "ci_runs": "fetch_nights import_ci_run nightly_workflows parse_ci_run",
        "expected_cost": "CellEstimate PlanEstimate estimate_plan trial_costs",
        "find_trial": "find_record",
        "fork_scan": "SCAN_FILE stored_scan",
        "history": "history_of_run keep_decisions open_history_of open_project_history",
        "labels": "Label labels_of_file labels_of_notes",
        "nights": (
            "CountedNights LAST_NIGHTS all_nights cells_of_nights counted_nights night_filter nights_until "
            "recent_cells uncounted"
        ),
        "promotions": "manual_promotion promoted_by_hand unrecorded_promotions",
        "resume": "Stale resumed_request stale_attempts",
        "runs": "StoredRun find_past_run find_stored_run request_of_run runs_before runs_with_eval",
        "sent_prompt": "changed_instructions LocatedInstruction locate sent_instructions",
        "tallies": "case_groups despite_lost mean_rate summary tally tally_trials",
        "trajectory_diff": "Pair align distance first_divergence way",
        "trial_steps": "TrialSteps load_capture load_steps read_steps user_replies",
    },
)
