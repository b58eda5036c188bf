"""The command line: one module a command, imported when it is called."""

from __future__ import annotations

from gradguard.cli.program import program, run

__all__ = ["program", "run"]
