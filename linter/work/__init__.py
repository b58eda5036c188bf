"""Analysing many files: one after the other, or spread over processes."""
