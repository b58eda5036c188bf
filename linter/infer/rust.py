"""Rust's own expressions and statements: blocks with drop, `let`, `match` as a value."""

from __future__ import annotations

from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.state import State
from gradguard.ir import nodes as ir


def evaluate_scope(frame: Frame, state: State, expr: ir.Scope) -> Any:
    raise NotImplementedError


def evaluate_branches(frame: Frame, state: State, expr: ir.Branches) -> Any:
    raise NotImplementedError


def execute_let(frame: Frame, state: State, statement: ir.Let) -> State | None:
    raise NotImplementedError
