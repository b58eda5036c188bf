"""Measuring whole processes side by side, and telling it in tables."""
