"""Executes the Python programs of the rule pages and prints what each did, as JSON.

Run as a script: torch is imported once for all programs. Each program has a thread of its own, since a new
thread starts with recording on and inference mode off, whatever the program before it left behind.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import threading
import time
import warnings

import torch
from page_programs import Program, read_pages

PATIENCE = 30.0


def run(program: Program) -> dict[str, object]:
    """What the program did: the error's type names and text ("" for none), and the seconds it took."""
    seen: dict[str, object] = {"errors": [], "message": "did not end"}

    def body() -> None:
        try:
            exec(compile(program.text, program.label, "exec"), {"__name__": "__main__"})
        except BaseException as error:
            seen["errors"] = [kind.__name__ for kind in type(error).__mro__]
            seen["message"] = str(error)
        else:
            seen["message"] = ""

    torch.manual_seed(0)
    start = time.perf_counter()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        thread.join(PATIENCE)
    return {**seen, "seconds": time.perf_counter() - start}


def main() -> None:
    """Prints a JSON object from program label to what it did."""
    torch.set_num_threads(1)
    programs = [p for page in read_pages() for p in page.programs if p.language == "python"]
    json.dump({p.label: run(p) for p in programs}, sys.stdout)


if __name__ == "__main__":
    main()
