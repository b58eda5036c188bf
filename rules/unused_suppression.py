"""GRD001: a comment that suppresses nothing. The suppression stage itself tells of it."""

from gradguard.rule import Rule

RULE = Rule(
    "GRD001", "unused-suppression", "a suppression comment that suppresses nothing", severity="warning"
)
