"""`gradguard rule`."""

from __future__ import annotations

from typing import Any

import click

from gradguard.cli.errors import CallError
from gradguard.cli.options import output_options
from gradguard.cli.output import color_and_width, print_text
from gradguard.settings.errors import did_you_mean

_FORMATS = ("text", "markdown", "json")


@click.command("rule")
@click.argument("code", required=False)
@click.option("--all", "all_rules", is_flag=True, help="Explain every rule.")
@output_options(_FORMATS)
def command(code: str | None, all_rules: bool, **said: Any) -> None:
    """Explain the rule CODE (a code or a name).

    Without CODE, list all rules, a line each.
    """
    from gradguard.pipeline import rules
    from gradguard.report.pages import read_page, render_all, render_index, render_rule

    if code and all_rules:
        raise CallError(f"`--all` and `{code}` contradict each other")
    known = rules()
    format = said["output_format"] or "text"
    color, width = color_and_width(said["color"], said["output_file"])
    if code:
        found = [rule for rule in known if code.upper() == rule.code or code.lower() == rule.name]
        if not found:
            hint = did_you_mean(code, [word for rule in known for word in (rule.code, rule.name)])
            raise CallError(f"no rule `{code}`{hint}")
        text = render_rule(found[0], read_page(found[0]), format, color=color, width=width)
    elif all_rules or said["output_format"]:
        text = render_all(known, format, color=color, width=width)
    else:
        text = render_index(known, color=color, width=width)
    print_text(text, said["output_file"])
