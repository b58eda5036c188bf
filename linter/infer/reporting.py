"""What of the file at hand may report something."""

from __future__ import annotations

from gradguard.infer.frames import Frame
from gradguard.infer.interest import (
    holds_interest,
    is_guarded,
    is_interesting,
    may_report_alone,
    speaks_of_interest,
)
from gradguard.infer.run import Run
from gradguard.infer.sites import Site
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.sift.stretches import suspect_stretches
from gradguard.sift.tokens import Clues, clues_in


def is_suspect(top: Frame, key: str, index: int) -> bool:
    """Whether a top-level piece holds a guard, a sink, or a name that this file gives to one."""
    suspects = top.run.suspects.get(key)
    if suspects is None:
        module = top.run.program.modules[key]
        text = "\n".join(module.lines())
        suspects = top.run.suspects[key] = suspect_stretches(_clues(top, key), text, module.bounds())
    return index in suspects


def _clues(top: Frame, key: str) -> Clues:
    """What to look for in pieces of a file: also names that only this file, or the user's settings, give to guards."""
    clues = top.run.clues.get(key)
    if clues is None:
        text = top.run.program.modules[key].source.text
        clues = top.run.clues[key] = clues_in(text, top.run.facts.words)
    return clues


def may_report(top: Frame, function: ir.Function) -> bool:
    """Whether a run of the function on its own may find something."""
    site = Site(top.module, function.at)
    known = top.run.reporting.get(site)
    if known is None:
        known = top.run.reporting[site] = _has_something_to_report(top, function)
    return known


def _has_something_to_report(top: Frame, function: ir.Function) -> bool:
    if top.run.facts.has("hooks.differentiated", function.name):
        return True
    text = function.text
    if text is not None and not speaks_of_interest(text):
        return False
    leads = text is None or top.run.program.leads(top.module, function.name)
    return (leads or may_report_alone(text or "", _clues(top, top.module))) and is_interesting(function)


def any_may_report(top: Frame, body: ir.Body) -> bool:
    """Whether a run of one of the functions of a body, or the body itself, may find something."""
    for statement in body:
        match statement:
            case ir.FunctionDef(function=function):
                found = may_report(top, function)
            case ir.ClassDef(decorators=decorators, body=inner):
                found = is_guarded(decorators) or any_may_report(top, inner)
            case _:
                found = holds_interest((statement,))
        if found:
            return True
    return False


def is_covered(run: Run, module: str, function: ir.Function) -> bool:
    """Whether every statement of a function was executed."""
    if Site(module, function.at) not in run.covered:
        return False
    return all(
        Site(module, node.at) in run.covered or isinstance(getattr(node, "value", None), ir.Const)
        for node in walk(function.body, into_functions=False)
        if isinstance(node, ir.Evaluate | ir.Assign | ir.Return | ir.For | ir.With | ir.Update)
    )
