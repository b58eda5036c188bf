"""Telling from its bytes whether a file is worth parsing."""
