"""Update loops that no run came to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.interest import (
    may_loop,
)
from gradguard.infer.modes import ON
from gradguard.infer.reporting import is_suspect
from gradguard.infer.run import STEPS, Ended, Exhausted
from gradguard.infer.state import State
from gradguard.infer.updates import note_loop
from gradguard.infer.values import (
    Closure,
)
from gradguard.ir import nodes as ir
from gradguard.lower.module import Unreadable


def note_loops(top: Frame, state: State, key: str) -> None:
    """Look at update loops that no run came to: what they say of a missing gradient stands in the text."""
    lowered = top.run.program.modules[key]
    for chunk in lowered.chunks:
        if not is_suspect(top, key, chunk.index):
            continue
        try:
            _note_loops_in(top, state, lowered.body(chunk.index))
        except (Unreadable, RecursionError, Ended, Exhausted):
            continue


def _note_loops_in(frame: Frame, state: State, body: ir.Body) -> None:
    frame.run.steps = STEPS
    for statement in body:
        match statement:
            case ir.FunctionDef(function=function) if may_loop(function):
                _note_loops_in(_frame_of(frame, function, frame.klass), state, function.body)
            case ir.ClassDef(body=inner, at=at):
                klass = next((k for k, _ in frame.run.classes if k.site == frame.site(at)), None)
                _note_loops_in(replace(frame, klass=klass), state, inner)
            case ir.For() if frame.site(statement.at) not in frame.run.covered:
                note_loop(frame, state, statement)
                _note_loops_in(frame, state, statement.body)
            case ir.For(body=inner) | ir.While(body=inner) | ir.With(body=inner):
                _note_loops_in(frame, state, inner)
            case ir.If(then=then, other=other):
                _note_loops_in(frame, state, (*then, *other))
            case ir.Try(body=inner, handlers=handlers, orelse=orelse, final=final):
                _note_loops_in(
                    frame, state, (*inner, *(s for h in handlers for s in h.body), *orelse, *final)
                )


def _frame_of(frame: Frame, function: ir.Function, klass: Any) -> Frame:
    closure = Closure(function, frame.module, frame.scopes, owner=klass)
    return Frame(frame.run, frame.module, frame.scopes, function.name, ON, closure, klass=klass)
