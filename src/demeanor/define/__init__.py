"""What an author writes → Eval: the decorator, scenario folders, Harbor tasks, and how they are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.define.cases import csv as csv, jsonl as jsonl
    from demeanor.define.discovery import (
        all_of as all_of,
        discover as discover,
        eval_folders as eval_folders,
        places_below as places_below,
        unique_names as unique_names,
    )
    from demeanor.define.eval_diff import Edit as Edit, Edits as Edits, edits as edits
    from demeanor.define.eval_fields import EVAL_FIELDS as EVAL_FIELDS
    from demeanor.define.field import (
        Field as Field,
        read_fields as read_fields,
        text as text,
    )
    from demeanor.define.folder.cline_folder import folder_name as folder_name, looks_like_cline as looks_like_cline
    from demeanor.define.past_policies import (
        policies_at as policies_at,
        policies_in as policies_in,
        policy_history as policy_history,
    )
    from demeanor.define.promotion_file import (
        NAME as NAME,
        read_promotions as read_promotions,
        write_promotions as write_promotions,
    )
    from demeanor.define.python.decorator import eval_test as eval_test, take_created as take_created
    from demeanor.define.python.import_file import (
        evals_in as evals_in,
        evals_of as evals_of,
        is_eval_file as is_eval_file,
        reject_lost as reject_lost,
    )
    from demeanor.define.python.marks import marks_of as marks_of
    from demeanor.define.repository import refuse_outside as refuse_outside
    from demeanor.define.set_policy import (
        policy_file as policy_file,
        shared_policies as shared_policies,
        with_policy as with_policy,
    )
    from demeanor.define.sources import SourceModule as SourceModule, source_of as source_of

__getattr__ = lazy_names(
    __name__,
    {
        "cases": "csv jsonl",
        "discovery": "all_of discover eval_folders places_below unique_names",
        "eval_diff": "Edit Edits edits",
        "eval_fields": "EVAL_FIELDS",
        "field": "Field read_fields text",
        "folder.cline_folder": "folder_name looks_like_cline",
        "past_policies": "policies_at policies_in policy_history",
        "promotion_file": "NAME read_promotions write_promotions",
        "python.decorator": "eval_test take_created",
        "python.import_file": "evals_in evals_of is_eval_file reject_lost",
        "python.marks": "marks_of",
        "repository": "refuse_outside",
        "set_policy": "policy_file shared_policies with_policy",
        "sources": "SourceModule source_of",
    },
)
