"""Lowering with the cheap parser, for a first look at whether a file has anything to report."""
