"""The command line: options, registry and output that the verbs share, and the program itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.cli.ci_package import (
        VARIABLE as VARIABLE,
        example as example,
        package_line as package_line,
        unfilled_lines as unfilled_lines,
    )
    from demeanor.cli.docs_location import docs_folder as docs_folder, schemas as schemas
    from demeanor.cli.forms import refuse_misfits as refuse_misfits
    from demeanor.cli.interrupts import log as log, make_ui as make_ui, run_interruptibly as run_interruptibly
    from demeanor.cli.intervention import (
        check_id as check_id,
        intervention_arguments as intervention_arguments,
        read_intervention as read_intervention,
    )
    from demeanor.cli.options import (
        budget_argument as budget_argument,
        build_argument as build_argument,
        builds_first as builds_first,
        choice_arguments as choice_arguments,
        config_argument as config_argument,
        env_argument as env_argument,
        format_arguments as format_arguments,
        load_config as load_config,
        on_argument as on_argument,
        output_format as output_format,
        port_argument as port_argument,
        positive_float as positive_float,
        positive_int as positive_int,
        print_report as print_report,
        rate_argument as rate_argument,
        request_of as request_of,
        sandbox_argument as sandbox_argument,
        shard_or_folder as shard_or_folder,
        size_argument as size_argument,
        subject_arguments as subject_arguments,
        trial_argument as trial_argument,
        trial_arguments as trial_arguments,
        with_sandbox as with_sandbox,
    )
    from demeanor.cli.output_path import (
        file_problem as file_problem,
        folder_problem as folder_problem,
        new_file as new_file,
        new_folder as new_folder,
    )
    from demeanor.cli.plan import print_plan as print_plan
    from demeanor.cli.program import run_and_end as run_and_end
    from demeanor.cli.registry import (
        EXIT_CODES as EXIT_CODES,
        SUB_COMMANDS as SUB_COMMANDS,
        all_commands as all_commands,
        parser_of as parser_of,
        program_help as program_help,
        sub_commands as sub_commands,
    )
    from demeanor.cli.run_trials import (
        run_arguments as run_arguments,
        run_evals as run_evals,
        run_part as run_part,
        tell_skipped as tell_skipped,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "ci_package": "VARIABLE example package_line unfilled_lines",
        "docs_location": "docs_folder schemas",
        "forms": "refuse_misfits",
        "interrupts": "log make_ui run_interruptibly",
        "intervention": "check_id intervention_arguments read_intervention",
        "options": (
            "budget_argument build_argument builds_first choice_arguments config_argument env_argument "
            "format_arguments load_config on_argument output_format port_argument positive_float positive_int "
            "print_report rate_argument request_of sandbox_argument shard_or_folder size_argument subject_arguments "
            "trial_argument trial_arguments with_sandbox"
        ),
        "output_path": "file_problem folder_problem new_file new_folder",
        "plan": "print_plan",
        "program": "run_and_end",
        "registry": "EXIT_CODES SUB_COMMANDS all_commands parser_of program_help sub_commands",
        "run_trials": "run_arguments run_evals run_part tell_skipped",
    },
)
