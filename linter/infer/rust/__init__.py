"""Rust: a small interpreter of its own over the same IR, values, states and events."""

from __future__ import annotations

from gradguard.infer.rust.blocks import evaluate_scope, execute_let
from gradguard.infer.rust.branches import evaluate_branches
from gradguard.infer.rust.roots import run_file

__all__ = ["evaluate_branches", "evaluate_scope", "execute_let", "run_file"]
