"""Output formats: terminal, tables, markdown, JUnit and JSON documents. Knows no command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.render.documents import (
        ReportDocument as ReportDocument,
        compact_object as compact_object,
        grouped as grouped,
        item_pieces as item_pieces,
        json_data as json_data,
    )
    from demeanor.render.junit import JUnitCase as JUnitCase, write_junit as write_junit
    from demeanor.render.markdown import (
        code_block as code_block,
        escape as escape,
        fit as fit,
        headline as headline,
        html_code as html_code,
        inline_code as inline_code,
        prose as prose,
        table_row as table_row,
    )
    from demeanor.render.marks import (
        EVAL_MARK as EVAL_MARK,
        STYLES as STYLES,
        SUBJECT_MARK as SUBJECT_MARK,
        dots as dots,
        sign as sign,
    )
    from demeanor.render.numbers import (
        UNKNOWN as UNKNOWN,
        duration as duration,
        money as money,
        p_value as p_value,
        percent as percent,
        rate as rate,
        trials as trials,
    )
    from demeanor.render.pager import show_markdown as show_markdown, show_text as show_text
    from demeanor.render.tables import (
        Column as Column,
        command_lines as command_lines,
        cut as cut,
        hanging as hanging,
        labelled as labelled,
        paragraph as paragraph,
        table as table,
        text_column as text_column,
        wrapped as wrapped,
    )
    from demeanor.render.terminal import (
        Screen as Screen,
        exit_style as exit_style,
        fitted as fitted,
        next_steps as next_steps,
        paint as paint,
        screen_of as screen_of,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "documents": "ReportDocument compact_object grouped item_pieces json_data",
        "junit": "JUnitCase write_junit",
        "markdown": "code_block escape fit headline html_code inline_code prose table_row",
        "marks": "EVAL_MARK STYLES SUBJECT_MARK dots sign",
        "numbers": "UNKNOWN duration money p_value percent rate trials",
        "pager": "show_markdown show_text",
        "tables": "Column command_lines cut hanging labelled paragraph table text_column wrapped",
        "terminal": "Screen exit_style fitted next_steps paint screen_of",
    },
)
