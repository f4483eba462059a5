"""The page of commands with all their options, made of the option tables from which completion is made."""

from collections.abc import Iterator

from page_text import cell, code, page, table

from kafka_py.cli.completion import Command, OptionRow, commands, umbrella_commands
from kafka_py.cli.umbrella.main import COMMANDS
from kafka_py.cli.umbrella.tool_names import TOOLS, script_of

SKIPPED = {"--help", "--version"}
"""Options that every command has."""


def option(row: OptionRow) -> tuple[str, str]:
    """One line of the table of a command's options."""
    value = "\\|".join(row.choices) if row.choices else row.value
    names = ", ".join(map(code, row.names)) + (f" {value.replace('<', '&lt;')}" if value else "")
    return names, cell(row.about) + (" May be given several times." if row.repeatable else "")


def section(title: str, about: str, command: Command | None) -> Iterator[str]:
    """A heading, what the command is for, and its options."""
    yield f"### {title}"
    yield cell(f"{about[:1].upper()}{about[1:]}.")
    if command is not None:
        if command.actions:
            yield f"Actions: {', '.join(map(code, command.actions))}."
        rows = [option(row) for row in command.rows if not SKIPPED.intersection(row.names)]
        if rows:
            yield table(("option", "what it does"), rows)


def sections() -> Iterator[str]:
    own = {command.script: command for command in umbrella_commands()}
    scripts = {command.script: command for command in commands()}
    yield "## Of kafka-py alone"
    for name, about in COMMANDS.items():
        yield from section(f"kafka-py {name}", about, own.get(f"kafka-{name}.sh"))
    yield "## Scripts, and kafka-py by their short name"
    for name, tool in TOOLS.items():
        yield from section(script_of(name), tool.about, scripts.get(script_of(name)))


def command_page() -> str:
    return page(
        "Commands",
        "Every command of Apache Kafka 2.8.2 for ZooKeeper mode, with its options, output and exit codes, and a few "
        "more. `kafka-py topics` is `kafka-topics.sh`, and so for all scripts; [kafka-py](../kafka-py.md) says more. "
        "`--help` shows the same, and `--version` the version.",
        *sections(),
    )
