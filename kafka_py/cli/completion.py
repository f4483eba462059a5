"""Shell completion for bash and zsh, made from the commands' own option tables.

    source <(kafka-py completion bash)                      # in ~/.bashrc; zsh alike
    kafka-py completion zsh > "${fpath[1]}/_kafka_py"

`kafka-py` itself is completed as the script that its first argument stands for; names of topics and groups come from
umbrella/names.py, where `kafka-py` is on the PATH. A command's script is named after its module, as
kafka-console-producer.sh after console_producer; the name without `.sh` is completed as well.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

from kafka_py.cli.common.command import run
from kafka_py.cli.run_class import CLASSES
from kafka_py.cli.umbrella.main import COMMANDS as UMBRELLA
from kafka_py.cli.umbrella.tool_names import TOOLS, script_of

SHELLS = ("bash", "zsh")
KNOWN_VALUES = {
    "--compression-codec": ("none", "gzip", "snappy", "lz4", "zstd"),
    "--election-type": ("preferred", "unclean"),
    "--entity-type": ("topics", "clients", "users", "brokers", "broker-loggers", "ips"),
    "--isolation-level": ("read_uncommitted", "read_committed"),
    "--offset": ("earliest", "latest"),
    "--request-required-acks": ("all", "1", "0"),
    "--reset-policy": ("earliest", "latest", "none"),
    "--state": ("Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Dead"),
}
"""What is offered for options whose table does not say it."""

LIVE = {"--topic": "topics", "--group": "groups"}
"""Options whose values are names that a cluster has."""

USAGE = "usage: kafka-py completion {bash|zsh}"

WITHOUT_SCRIPT = {"verification.transactional_message_copier"}
"""Run by kafka-run-class.sh alone, as in Apache Kafka."""


class OptionRow(NamedTuple):
    """One option. value: what its argument is called, "" for an option without one."""

    names: tuple[str, ...]
    about: str
    value: str
    choices: tuple[str, ...]
    repeatable: bool

    @property
    def takes_file(self) -> bool:
        return "file" in self.value.lower()


class Command(NamedTuple):
    """One script: its options, and the actions (subcommands) it begins with, if it has any."""

    script: str
    rows: tuple[OptionRow, ...]
    actions: tuple[str, ...]

    @property
    def names(self) -> tuple[str, str]:
        return self.script, self.script.removesuffix(".sh")


def commands() -> list[Command]:
    """Every command that has an option table, by script name."""
    found = []
    for module in sorted(set(CLASSES.values()) - WITHOUT_SCRIPT):
        parser: Callable[[], argparse.ArgumentParser] | None
        parser = getattr(import_module(f"kafka_py.cli.{module}"), "parser", None)
        if parser is not None:
            found.append(_command(script_of(module.rpartition(".")[2].replace("_", "-")), parser()))
    return found


def _command(script: str, parser: argparse.ArgumentParser) -> Command:
    rows: dict[tuple[str, ...], OptionRow] = {}
    actions: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                actions.append(name)
                rows.update((row.names, row) for row in _command(script, sub).rows)
        elif action.option_strings:
            row = _row(action)
            rows[row.names] = row
    return Command(script, tuple(rows.values()), tuple(actions))


def _row(action: argparse.Action) -> OptionRow:
    value = ""
    if action.nargs != 0:
        value = str(action.metavar or action.dest).strip("<>")
    names = tuple(sorted(action.option_strings, key=lambda name: not name.startswith("--")))
    choices = tuple(map(str, action.choices)) if action.choices else KNOWN_VALUES.get(names[0], ())
    about = (action.help or "").replace("%%", "%").replace("%(default)s", str(action.default))
    return OptionRow(names, about, value, choices, isinstance(action, argparse._AppendAction))


def umbrella_commands() -> list[Command]:
    """The commands that only `kafka-py` has, as if each had a script."""
    return [_command(f"kafka-{name}.sh", import_module(f"kafka_py.cli.umbrella.{name}").parser()) for name in UMBRELLA]


# ---- bash


def bash(table: Sequence[Command], umbrella: Sequence[Command] = ()) -> Iterator[str]:
    """The lines of a script to be sourced. umbrella: the commands that only kafka-py has."""
    yield "# Completion of Kafka's commands for bash; made by python -m kafka_py.cli.completion bash"
    yield "_kafka_py_complete() {"
    yield '  local words=() values= at=1 tool="${1##*/}"'
    yield '  if [ "$tool" = kafka-py ]; then'
    yield f'    words=({" ".join([*UMBRELLA, *TOOLS])})'
    yield '    if [ "$COMP_CWORD" = 1 ]; then COMPREPLY=($(compgen -W "${words[*]}" -- "$2")); return; fi'
    yield '    at=2 tool="kafka-${COMP_WORDS[1]}"'
    yield "  fi"
    yield '  case "$tool" in'
    for command in [*table, *umbrella]:
        yield f"    {'|'.join(command.names)})"
        yield from _bash_command(command)
        yield "      ;;"
    yield "    *) return ;;"
    yield "  esac"
    yield from _BASH_END.splitlines()
    names = " ".join(name for command in table for name in command.names)
    yield f"complete -F _kafka_py_complete kafka-py {names}"


_BASH_END = """\
  [[ "$2" == -* ]] && values=
  case "$values" in
    '') COMPREPLY=($(compgen -W "${words[*]}" -- "$2")) ;;
    file) compopt -o filenames 2> /dev/null || true; COMPREPLY=($(compgen -f -- "$2")) ;;
    any) COMPREPLY=() ;;
    topics|groups)
      COMPREPLY=($(compgen -W "$(kafka-py names "$values" -- "${COMP_WORDS[@]:1}" 2> /dev/null)" -- "$2")) || true ;;
    *) COMPREPLY=($(compgen -W "$values" -- "$2")) ;;
  esac
}"""


def _bash_command(command: Command) -> Iterator[str]:
    names = [name for row in command.rows for name in row.names if name.startswith("--")]
    yield f"      words=({' '.join(names)})"
    if command.actions:
        yield f'      if [ "$COMP_CWORD" = "$at" ]; then words=({" ".join(command.actions)}); fi'
    by_value: dict[str, list[str]] = {}
    for row in command.rows:
        if row.value:
            kind = "file" if row.takes_file else " ".join(row.choices) or LIVE.get(row.names[0], "any")
            by_value.setdefault(kind, []).extend(row.names)
    yield '      case "$3" in'
    for kind, options in by_value.items():
        yield f"        {'|'.join(options)}) values='{kind}' ;;"
    yield "      esac"


# ---- zsh


def zsh(table: Sequence[Command], umbrella: Sequence[Command] = ()) -> Iterator[str]:
    """The lines of a script to be sourced, or to be put into a folder of `fpath` as _kafka_py."""
    names = " ".join([*(name for command in table for name in command.names), "kafka-py"])
    yield f"#compdef {names}"
    yield "# Completion of Kafka's commands for zsh; made by python -m kafka_py.cli.completion zsh"
    yield "_kafka_py() {"
    yield '  case "${words[1]:t}" in'
    yield "    kafka-py)"
    yield f"      if (( CURRENT == 2 )); then compadd -- {' '.join([*UMBRELLA, *TOOLS])}; return; fi"
    yield "      shift words; (( CURRENT-- )); words[1]=kafka-${words[1]}; _kafka_py"
    yield "      ;;"
    for command in [*table, *umbrella]:
        yield f"    {'|'.join(command.names)})"
        specs = [*_zsh_actions(command), *(spec for row in command.rows for spec in _zsh_specs(row))]
        yield "      _arguments \\"
        yield from (f"        {spec} \\" for spec in specs[:-1])
        yield f"        {specs[-1]}"
        yield "      ;;"
    yield "  esac"
    yield "}"
    yield 'if [ "${zsh_eval_context[-1]}" = loadautofunc ]; then'
    yield '  _kafka_py "$@"'
    yield "else"
    yield f"  compdef _kafka_py {names}"
    yield "fi"


def _zsh_actions(command: Command) -> list[str]:
    return [f"'1:action:({' '.join(command.actions)})'"] if command.actions else []


def _zsh_specs(row: OptionRow) -> Iterator[str]:
    argument = ""
    if row.value:
        offered = "_files" if row.takes_file else f"({' '.join(row.choices)})" if row.choices else _zsh_live(row)
        argument = f":{_zsh_text(row.value)}:{offered}"
    others = "" if row.repeatable else f"({' '.join(row.names)})" if len(row.names) > 1 else ""
    star = "*" if row.repeatable else ""
    for name in row.names:
        yield f"'{others}{star}{name}[{_zsh_text(row.about)}]{argument}'"


def _zsh_live(row: OptionRow) -> str:
    kind = LIVE.get(row.names[0])
    return f'{{compadd -- ${{(f)"$(kafka-py names {kind} -- $words 2> /dev/null)"}}}}' if kind else ""


def _zsh_text(text: str) -> str:
    """Text within a specification in single quotes."""
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text.replace("'", "'\\''")


def main(arguments: Sequence[str]) -> int:
    if list(arguments) not in ([shell] for shell in SHELLS):
        asked_for_help = list(arguments) in (["-h"], ["--help"])
        print(USAGE, file=sys.stdout if asked_for_help else sys.stderr)
        return 0 if asked_for_help else 1
    make = bash if arguments[0] == "bash" else zsh
    print("\n".join(make(commands(), umbrella_commands())))
    return 0


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
