"""What a user asks of kafka-topics.sh as one value, and which topics a pattern means.

Pure: the texts of the command line are read and checked here, before anything is connected.
Source: docs/reference/tools.md, section 2.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import INTERNAL_TOPICS
from kafka_py.cli.common.command import CommandFailed
from kafka_py.controller.topic_names import has_collision_chars

MAX_REPLICATION_FACTOR = 32_767


@dataclass(frozen=True, slots=True)
class TopicAction:
    """One action on topics.

    action: create, list, describe, alter or delete. topic: a name for create, else a pattern, None for all topics.
    assignment: partition number -> broker ids, from --replica-assignment. report: the describe filter, "" for none.
    output: json or yaml, None for the classic text.
    """

    action: str
    topic: str | None = None
    partitions: int | None = None
    replication_factor: int | None = None
    assignment: dict[int, list[int]] | None = None
    configs: dict[str, str] = field(default_factory=dict)
    delete_configs: tuple[str, ...] = ()
    report: str = ""
    only_overridden: bool = False
    if_exists: bool = False
    if_not_exists: bool = False
    exclude_internal: bool = False
    rack_aware: bool = True
    output: str | None = None

    @property
    def name(self) -> str:
        """The topic of actions that need one."""
        assert self.topic is not None
        return self.topic

    async def edit_configs(self, present: dict[str, str]) -> dict[str, str]:
        """A topic's overrides after --config and --delete-config; the form in which the store takes an edit."""
        wanted = {**present, **self.configs}
        return {name: value for name, value in wanted.items() if name not in self.delete_configs}

    def check_counts(self) -> None:
        """Raises CommandFailed for numbers of partitions and replicas that no topic can have."""
        if self.partitions is not None and self.partitions < 1:
            raise CommandFailed("The partitions must be greater than 0")
        factor = self.replication_factor
        if factor is not None and not 1 <= factor <= MAX_REPLICATION_FACTOR:
            raise CommandFailed(f"The replication factor must be between 1 and {MAX_REPLICATION_FACTOR} inclusive")

    @property
    def collision_warning(self) -> str | None:
        """What to say before a topic whose metrics may clash with another's is made; None for other names."""
        if not has_collision_chars(self.name):
            return None
        return ("WARNING: Due to limitations in metric names, topics whose names differ only in '.' and '_' would be "
                "counted as one. Best use just one of the two characters.")  # fmt: skip


def request_of(options: argparse.Namespace) -> TopicAction:
    """The request that checked options spell. Raises CommandFailed for values that cannot be meant."""
    action = next(name for name in ("create", "list", "describe", "alter", "delete") if getattr(options, name))
    reports = ("under_replicated", "unavailable", "under_min_isr", "at_min_isr")
    return TopicAction(
        action=action,
        topic=options.topic,
        partitions=options.partitions,
        replication_factor=options.replication_factor,
        assignment=parse_assignment(options.replica_assignment) if options.replica_assignment is not None else None,
        configs=parse_configs(options.config),
        delete_configs=parse_config_names(options.delete_config),
        report=next((name for name in reports if getattr(options, f"{name}_partitions")), ""),
        only_overridden=options.topics_with_overrides,
        if_exists=options.if_exists,
        if_not_exists=options.if_not_exists,
        exclude_internal=options.exclude_internal,
        rack_aware=not options.disable_rack_aware,
        output=options.output,
    )


def parse_assignment(text: str) -> dict[int, list[int]]:
    """`1:2,2:3` as {0: [1, 2], 1: [2, 3]}.

    Raises CommandFailed for what is not a number, a broker twice in one partition, or groups of different length.
    """
    result: dict[int, list[int]] = {}
    for number, group in enumerate(text.split(",")):
        try:
            replicas = [int(broker) for broker in group.strip().split(":")]
        except ValueError:
            raise CommandFailed(
                f"Partition {number} of the replica assignment {text!r} is not a list of broker ids such as 1:2:3"
            ) from None
        twice = sorted({broker for broker in replicas if replicas.count(broker) > 1})
        if twice:
            listed = ",".join(map(str, twice))
            raise CommandFailed(f"Partition replica lists may not contain duplicate entries: {listed}")
        if result and len(replicas) != len(result[0]):
            raise CommandFailed(f"Partition {number} has different replication factor: {group.strip()}")
        result[number] = replicas
    return result


def parse_configs(arguments: Iterable[str] | None) -> dict[str, str]:
    """`key=value` arguments, checked against the table of topic configs. Raises CommandFailed."""
    configs: dict[str, str] = {}
    for argument in arguments or ():
        key, equals, value = argument.partition("=")
        if not equals or not key.strip():
            raise CommandFailed(f'Invalid topic config: {argument!r} is not of the form "key=value"')
        configs[key.strip()] = value.strip()
    if configs:
        from kafka_py.log.model.configs import LogConfig

        try:
            LogConfig.check(configs)
        except KafkaError as error:
            raise CommandFailed(error.message) from None
    return configs


def parse_config_names(arguments: Iterable[str] | None) -> tuple[str, ...]:
    """Names of topic configs. Raises CommandFailed for one that does not exist."""
    names = tuple(argument.strip() for argument in arguments or ())
    if names:
        from kafka_py.log.model.configs import LogConfig

        for name in names:
            if name not in LogConfig.ROWS:
                raise CommandFailed(f"Unknown topic config name: {name}")
    return names


def topic_pattern(text: str) -> re.Pattern[str]:
    """A regular expression of topics as the tools take it: commas part alternatives, quotes around it are dropped.

    Raises CommandFailed if it cannot be compiled.
    """
    expression = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(expression)
    except re.error as error:
        raise CommandFailed(f"{text} is an invalid regex: {error}") from None


def select_topics(names: Iterable[str], request: TopicAction) -> list[str]:
    """The topics that the request's pattern matches whole, sorted; all of them without a pattern."""
    pattern = topic_pattern(request.topic) if request.topic is not None else None
    return sorted(
        name
        for name in names
        if (pattern is None or pattern.fullmatch(name))
        and not (request.exclude_internal and name in INTERNAL_TOPICS)
    )


def require_found(found: Iterable[str], request: TopicAction) -> None:
    """Raises CommandFailed if a pattern was given, nothing matched it, and that is not what --if-exists allows."""
    if request.topic is not None and not request.if_exists and not list(found):
        raise CommandFailed(f"Topic '{request.topic}' does not exist as expected")
