"""`python -m gradguard`, and what the installed command runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    from gradguard.cli import run

    sys.exit(run())


if __name__ == "__main__":
    main()
