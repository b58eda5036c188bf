"""Planting faults that are faults by construction into files that work."""
