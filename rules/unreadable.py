"""GRD000: a file that cannot be parsed. The pipeline itself tells of it."""

from gradguard.rule import Rule

RULE = Rule("GRD000", "unreadable", "a file that cannot be parsed")
