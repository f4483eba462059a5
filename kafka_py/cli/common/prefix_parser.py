"""Option parsing of the tools that came from another parser than the rest: producer-perf-test and its like.

Differences to command.CommandParser: options may be abbreviated, `-h` works, help (also for no argument at all) goes
to standard output with exit 0, and there is no --version. Source: docs/reference/tools.md, sections 1, 11 and 15 to 17.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn


class PrefixParser(argparse.ArgumentParser):
    """An argparse parser whose errors exit with 1."""

    def __init__(self, name: str, about: str) -> None:
        super().__init__(prog=name, description=about, allow_abbrev=True)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options by attribute; exits by itself for help and for wrong usage."""
        if not arguments:
            self.print_help()
            raise SystemExit(0)
        return self.parse_args(list(arguments))

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: error: {message}\n")

    def required(self, name: str, about: str, **row: Any) -> None:
        """A row that must be given."""
        self.add_argument(name, required=True, help=about, **row)
