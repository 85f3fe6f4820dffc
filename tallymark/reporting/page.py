"""Pages: one self-contained HTML file each, rendered from blocks by the templates beside this module.

Everything that is not a template is escaped; images, style and script are embedded, and nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tallymark.core.humanize import count
from tallymark.core.outputs import write_text
from tallymark.core.problems import escape_direction
from tallymark.reporting.blocks import Section, TableBlock, cell_text
from tallymark.reporting.scripts import content_policy, report_script, report_style, script

if TYPE_CHECKING:
    from jinja2 import Environment

Fact = tuple[str, str]
"""A number and what it counts."""


def write_html(out: Path, title: str, lead: str, facts: Sequence[Fact], sections: Sequence[Section]) -> None:
    """Write a page. `facts` are shown large at its top; sections without blocks are omitted."""
    write_text(out, render_page(title, lead, facts, sections))


def render_page(title: str, lead: str, facts: Sequence[Fact], sections: Sequence[Section]) -> str:
    """A page as HTML."""
    shown = [section for section in sections if section.blocks]
    template = _environment().get_template("page.html.jinja")
    return template.render(title=title, lead=lead, facts=facts, sections=shown)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tallymark.reporting"),
        autoescape=True,
        finalize=escape_direction,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = cell_text
    environment.filters["count"] = count
    environment.filters["table_block"] = TableBlock
    for made in (content_policy, report_script, report_style, script):
        environment.globals[made.__name__] = made
    return environment
