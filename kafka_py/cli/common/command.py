"""What the commands share: option parsing by Kafka's rules, and errors as one readable line.

Options are long, take `--name value` or `--name=value`, cannot be abbreviated and are given once unless declared
repeatable. `--help`, or no argument at all, prints the usage on standard error and exits with 1, as Apache Kafka
tools do. Source: docs/reference/tools.md, section 1.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TextIO

import kafka_py
from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.cli.common.termination import Terminated

_CLASSIC_WORDS = (
    (re.compile(r"argument --(\S+): expected one argument"), r"Option \1 requires an argument"),
    (re.compile(r"argument --(\S+): invalid \w+ value: ('.*')"), r"Cannot parse argument \2 of option \1"),
)
"""argparse's messages as Apache Kafka's parser has them."""


class UserError(Exception):
    """What was asked for cannot be done, and the text tells the user why: no traceback, exit code 1.

    The kinds differ in how the text is printed.
    """


class UsageError(UserError):
    """The command line is wrong: the message is printed, then the options."""


class CommandFailed(UserError):
    """The work failed, or an argument makes no sense: one line on standard error, behind `Error:`."""


class Refused(UserError):
    """The arguments contradict one another or the cluster: the text is printed without a prefix, or by the command."""


class Once(argparse.Action):
    """An option that may be given once; argparse would silently take the last."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        given = namespace.__dict__.setdefault("given", set())
        if self.dest in given:
            name = self.option_strings[0].lstrip("-")
            raise UsageError(f"Found multiple arguments for option {name}, but you asked for only one")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class CommandParser(argparse.ArgumentParser):
    """An option table. Add rows with `option`, `flag` and `repeatable`, then call `parse`.

    bare: the command does something useful without any argument.
    """

    def __init__(self, name: str, about: str, *, bare: bool = False) -> None:
        super().__init__(prog=name, description=about, add_help=False, allow_abbrev=False, argument_default=None)
        self.bare = bare
        self.flag("--help", "Print usage information.")
        self.flag("--version", "Display Kafka version.")

    def option(self, name: str, about: str, *, metavar: str = "String", kind: Callable[[str], Any] = str,
               default: Any = None, choices: Sequence[str] | None = None, nargs: str | None = None,
               const: Any = None) -> None:  # fmt: skip
        """A row with one argument, which may be given once."""
        self.add_argument(name, help=_escaped(about, default), metavar=f"<{metavar}>", type=kind, default=default,
                          choices=choices, action=Once, nargs=nargs, const=const)  # fmt: skip

    def repeatable(self, name: str, about: str, *, metavar: str = "String", kind: Callable[[str], Any] = str) -> None:
        """A row that may be given many times; the value is the list of its arguments."""
        self.add_argument(name, help=_escaped(about, None), metavar=f"<{metavar}>", type=kind, action="append")

    def flag(self, name: str, about: str) -> None:
        """A row without argument."""
        self.add_argument(name, help=_escaped(about, None), action="store_true", default=False)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options by attribute (`--bootstrap-server` as `bootstrap_server`).

        Raises UsageError; exits by itself for --help, --version and, unless `bare`, for no argument.
        """
        if "--version" in arguments:
            print(f"{kafka_py.KAFKA_VERSION} (Commit:kafka_py-{kafka_py.__version__})")
            raise SystemExit(0)
        if "--help" in arguments or (not arguments and not self.bare):
            self.print_help(sys.stderr)
            raise SystemExit(1)
        options, rest = self.parse_known_args(list(arguments))
        if rest:
            word = rest[0]
            raise UsageError(
                f"{word.partition('=')[0].lstrip('-')} is not a recognized option"
                if word.startswith("-")
                else f"Unexpected argument: {word}"
            )
        return options

    def error(self, message: str) -> NoReturn:
        for pattern, words in _CLASSIC_WORDS:
            message = pattern.sub(words, message)
        raise UsageError(message)


def _escaped(about: str, default: Any) -> str:
    text = about if default is None else f"{about} (default: {default})"
    return text.replace("%", "%%")


def _given(options: argparse.Namespace, name: str) -> bool:
    value = getattr(options, name.replace("-", "_"))
    return value is not None and value is not False and value != []  # 0 is given


def require(options: argparse.Namespace, *names: str) -> None:
    """Every one of these options must be there."""
    for name in names:
        if not _given(options, name):
            raise UsageError(f'Missing required argument "[{name}]"')


def forbid_together(options: argparse.Namespace, name: str, *others: str) -> None:
    """Where `name` is given, none of `others` may be."""
    if _given(options, name):
        for other in others:
            if _given(options, other):
                raise UsageError(f'Option "[{name}]" can\'t be used with option "[{other}]"')


class SignalSafeHandler(logging.StreamHandler[TextIO]):
    """A handler whose lock is free after an exception that a signal raised in it, wherever that was.

    Python's own handlers take the lock in a call that is followed by `try`. A signal's exception between the two leaves
    the lock taken, and the thread of a client that logs something then waits forever. A `with` statement looks for no
    signals between the taking of the lock and its own protection (CPython 3.11).
    """

    def handle(self, record: logging.LogRecord) -> bool:
        is_shown = bool(self.filter(record))
        if is_shown:
            assert self.lock is not None
            with self.lock:
                self.emit(record)
        return is_shown

    def flush(self) -> None:
        assert self.lock is not None
        with self.lock:
            self.stream.flush()


def log_warnings() -> None:
    """Writes warnings of the libraries to standard error, one line each, as config/tools-log4j.properties has it."""
    logging.basicConfig(
        handlers=[SignalSafeHandler(sys.stderr)], level=logging.WARNING,
        format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)",
    )  # fmt: skip


def keep_quiet() -> None:
    """Has the libraries log nothing, for commands whose own text says what has failed."""
    logging.getLogger("kafka_py").setLevel(logging.CRITICAL)


def run(main: Callable[[Sequence[str]], int | None], parser: Callable[[], CommandParser] | None = None) -> NoReturn:
    """Runs a command as a process: its result is the exit code, its expected failures are one line on stderr."""
    try:
        code = main(sys.argv[1:]) or 0
        sys.stdout.flush()
    except UsageError as error:
        print(error, file=sys.stderr)
        if parser is not None:
            parser().print_help(sys.stderr)
        code = 1
    except Refused as error:
        print(error, file=sys.stderr)
        code = 1
    except (CommandFailed, KafkaError) as error:
        print(f"Error: {error.message if isinstance(error, ConfigError) else error}", file=sys.stderr)
        code = 1
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`): nothing is printed, and no traceback at interpreter exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = 130
    except Terminated as terminated:
        code = terminated.exit_code
    sys.exit(code)
