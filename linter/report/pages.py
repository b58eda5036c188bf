"""The documentation of rules: Markdown pages beside the rule modules, shown as they are, as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from gradguard.report.layout import fold
from gradguard.report.markdown import as_text
from gradguard.report.paint import Paint
from gradguard.rule import Rule

RULE_FORMATS: tuple[str, ...] = ("text", "markdown", "json")


def read_page(rule: Rule) -> str:
    """The page of `rule`, "" where there is none; it is named as the rule's module, with underscores."""
    from importlib.resources import files

    try:
        page = files("gradguard.rules") / f"{rule.name.replace('-', '_')}.md"
        return page.read_text(encoding="utf-8")
    except (FileNotFoundError, ModuleNotFoundError):
        return ""


def render_rule(
    rule: Rule,
    page: str,
    format: str = "text",
    *,
    color: bool = False,
    width: int = 100,
    docs_url: str | None = None,
) -> str:
    """One rule's page in one of `RULE_FORMATS`, ending in a newline; ValueError for another format."""
    match format:
        case "text":
            return as_text(_with_title(rule, page), color=color, width=width)
        case "markdown":
            return _with_title(rule, page).strip("\n") + "\n"
        case "json":
            return json.dumps(_record(rule, page, docs_url), indent=2) + "\n"
    raise ValueError(f"unknown format {format!r} of rule pages, known are: {', '.join(RULE_FORMATS)}")


def render_all(
    rules: Iterable[Rule],
    format: str = "text",
    *,
    read: Callable[[Rule], str] = read_page,
    color: bool = False,
    width: int = 100,
    docs_url: str | None = None,
) -> str:
    """All pages one after the other, as JSON in one array. `read` gives the page of a rule."""
    if format == "json":
        return json.dumps([_record(rule, read(rule), docs_url) for rule in rules], indent=2) + "\n"
    return "\n".join(render_rule(rule, read(rule), format, color=color, width=width) for rule in rules)


def render_index(rules: Iterable[Rule], *, color: bool = False, width: int = 100) -> str:
    """A line a rule: code, name and summary, and whether it is a preview."""
    ordered = sorted(rules, key=lambda rule: rule.code)
    longest = max((len(rule.name) for rule in ordered), default=0)
    paint = Paint(color)
    lines: list[str] = []
    for rule in ordered:
        lead = f"{rule.code}  {rule.name:<{longest}}  "
        summary = f"{rule.summary} (preview)" if rule.preview else rule.summary
        first, *rest = fold(summary, max(width - len(lead), 20))
        lines.append(paint("bold", rule.code) + lead[len(rule.code) :] + first)
        lines.extend(" " * len(lead) + line for line in rest)
    return "".join(f"{line}\n" for line in lines)


def what_it_does(page: str) -> str:
    """The first section of a page as plain text on one line, "" without one."""
    text = page.partition("\n## ")[2].partition("\n")[2].partition("\n## ")[0]
    return " ".join(as_text(text).split())


def page_text(page: str) -> str:
    """A page as plain text for formats that carry documentation."""
    return as_text(page)


def _with_title(rule: Rule, page: str) -> str:
    body = page if page.strip() else f"{rule.summary}\n"
    status = "\nThis rule is a preview: it is off unless preview is asked for.\n" if rule.preview else ""
    first, _, rest = body.lstrip("\n").partition("\n")
    if first.startswith("# "):
        return f"{first}\n{status}{rest}"
    return f"# {rule.name} ({rule.code})\n{status}\n{body}"


def _record(rule: Rule, page: str, docs_url: str | None) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "severity": rule.severity,
        "preview": rule.preview,
        "explanation": page or None,
        "url": f"{docs_url.rstrip('/')}/{rule.code}" if docs_url else None,
    }
