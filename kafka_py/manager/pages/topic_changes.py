"""Topics are created, deleted and get more partitions; preferred leaders are elected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients.admin.topics import NewPartitions, NewTopic
from kafka_py.manager.pages.commands import command, config_words
from kafka_py.manager.pages.looks import seen, wait_settled
from kafka_py.manager.pages.topics import existing
from kafka_py.manager.web.answers import Effect, Page, PlannedChange
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter, changes, reads
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ViewPart

MOST_EFFECTS = 500
"""Shown of a change with very many effects."""


@dataclass(frozen=True, slots=True)
class NewTopicPage:
    """The form for a topic. problems: why it cannot be created; hints: what to think of."""

    name: str
    partitions: str
    factor: str
    settings: str
    problems: list[str]
    hints: list[str]
    is_checked: bool = False


def settings_of_lines(text: str) -> dict[str, str]:
    """`name=value` per line. Raises BadParameter."""
    settings = {}
    for line in text.splitlines():
        if line.strip():
            name, equals, value = line.partition("=")
            if not equals or not name.strip():
                raise BadParameter(f"A setting has the form name=value, not {line[:200]!r}")
            settings[name.strip()] = value.strip()
    return settings


def hints_of(name: str, others: Sequence[str], factor: int) -> list[str]:
    """What to think of before such a topic is created."""
    hints = []
    alike = name.replace(".", "_")
    clashing = [each for each in others if each != name and each.replace(".", "_") == alike]
    if clashing:
        hints.append(f"Metrics cannot tell {name} from {clashing[0]}: they take dots for underscores.")
    if factor == 1:
        hints.append("With one replica the topic cannot be used while its broker is down, and is lost with its disk.")
    return hints


async def new_topic(request: PageRequest) -> Page:
    """The empty form."""
    model = NewTopicPage(request.text("name", ""), "", "", "", [], [])
    return Page("topics/new.html", model, "New topic")


def _asked_topic(request: PageRequest) -> NewTopic:
    """The topic of the form. Raises BadParameter."""
    return NewTopic(
        request.text("name"),
        request.number("partitions", -1, least=-1, greatest=200_000),
        request.number("factor", -1, least=-1, greatest=32_767),
        configs=settings_of_lines(request.text("settings", "")),
    )


async def checked(request: PageRequest) -> tuple[NewTopic | None, NewTopicPage]:
    """The topic of the form, None if it cannot be created; and the form with what the controller says of it."""
    texts = [request.text(name, "") for name in ("name", "partitions", "factor", "settings")]
    name, partitions, factor, settings = texts
    problems, hints = [], []
    topic: NewTopic | None = None
    try:
        topic = _asked_topic(request)
        if not name:
            raise BadParameter("The topic needs a name")
        admin = request.cluster.admin
        (await admin.create_topics([topic], validate_only=True)).all()
        hints = hints_of(name, list(await admin.list_topics()), topic.replication_factor)
    except BadParameter as error:
        problems.append(str(error))
    except KafkaError as error:
        if error.code in (ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT):
            raise
        problems.append(error.message)
    page = NewTopicPage(name, partitions, factor, settings, problems, hints, is_checked=True)
    return (None if problems else topic), page


async def check(request: PageRequest) -> Page:
    """What is wrong with a form that is being filled in; creates nothing."""
    _, page = await checked(request)
    return Page("topics/check.html", page)


async def create(request: PageRequest) -> PlannedChange | Page:
    """Creates a topic."""
    topic, page = await checked(request)
    if topic is None:
        if request.is_api:
            raise BadParameter(" ".join(page.problems))
        return Page("topics/new.html", page, "New topic", 422)

    async def apply() -> str:
        created = (await request.cluster.admin.create_topics([topic])).all()[topic.name]
        if created.num_partitions > 0:
            await wait_settled(request.cluster, topic.name, created.num_partitions)
        return f"The topic {topic.name} was created."

    words = ["--create", "--topic", topic.name]
    if topic.num_partitions > 0:
        words += ["--partitions", str(topic.num_partitions)]
    if topic.replication_factor > 0:
        words += ["--replication-factor", str(topic.replication_factor)]
    for setting in config_words({name: value or "" for name, value in topic.configs.items()}):
        words += ["--config", setting]
    effects = [
        Effect("partitions", "", page.partitions or "the default of the brokers"),
        Effect("replication factor", "", page.factor or "the default of the brokers"),
        *(Effect(name, "", value or "") for name, value in topic.configs.items()),
    ]
    back = f"/clusters/{part(request.cluster.name)}/topics/{part(topic.name)}"
    return PlannedChange(f"Create the topic {topic.name}", command(request.cluster, "kafka-topics.sh", *words), apply,
                         back, effects, page.hints)  # fmt: skip


async def delete(request: PageRequest) -> PlannedChange:
    """Deletes a topic with all of its records."""
    name = request.path["topic"]
    info = existing(await seen(request.cluster, ViewPart.TOPICS, topics=[name]), name)

    async def apply() -> str:
        (await request.cluster.admin.delete_topics([name])).all()
        await wait_settled(request.cluster, name, 0)
        return f"The topic {name} was deleted."

    warnings = ["All of its records are lost; this cannot be undone."]
    if info.is_internal:
        warnings.append("This is an internal topic: groups lose their offsets, or transactions their states, with it.")
    return PlannedChange(
        f"Delete the topic {name}",
        command(request.cluster, "kafka-topics.sh", "--delete", "--topic", name),
        apply,
        f"/clusters/{part(request.cluster.name)}/topics",
        [Effect("partitions", str(len(info.partitions)), "none")],
        warnings,
        is_dangerous=True,
    )


async def add_partitions(request: PageRequest) -> PlannedChange:
    """Gives a topic more partitions."""
    name = request.path["topic"]
    info = existing(await seen(request.cluster, ViewPart.TOPICS, topics=[name]), name)
    count = request.number("count", least=1, greatest=200_000)
    if count <= len(info.partitions):
        raise BadParameter(f"The topic {name} has {len(info.partitions)} partitions already, and cannot get fewer")
    admin = request.cluster.admin
    (await admin.create_partitions({name: NewPartitions(count)}, validate_only=True)).all()

    async def apply() -> str:
        (await admin.create_partitions({name: NewPartitions(count)})).all()
        await wait_settled(request.cluster, name, count)
        return f"The topic {name} has {count} partitions now."

    return PlannedChange(
        f"Add partitions to {name}",
        command(request.cluster, "kafka-topics.sh", "--alter", "--topic", name, "--partitions", count),
        apply,
        f"/clusters/{part(request.cluster.name)}/topics/{part(name)}",
        [Effect("partitions", str(len(info.partitions)), str(count))],
        ["Records with a key may go to other partitions than before; partitions cannot be removed again."],
    )


async def elect(request: PageRequest) -> PlannedChange:
    """Makes the first live in-sync replica of each partition its leader again."""
    name = request.text("topic", "")
    snapshot = await seen(request.cluster, ViewPart.TOPICS, topics=[name] if name else None)
    infos = existing(snapshot, name).partitions if name else list(derived.partitions(snapshot))
    wanted = [each for each in infos if not derived.is_preferred_leader(each)]
    if not wanted:
        raise NotFound("Every partition is led by its preferred replica already")
    partitions = [each.topic_partition for each in wanted]

    async def apply() -> str:
        results = await request.cluster.admin.elect_leaders(ElectionType.PREFERRED, partitions)
        failed = {
            each: error for each, error in results.errors().items() if error.code is not ErrorCode.ELECTION_NOT_NEEDED
        }
        sentence = f"{len(partitions) - len(failed)} leaders were elected."
        return sentence + _failures(failed)

    effects = [
        Effect(f"leader of {each.topic_partition}", str(each.leader), str(each.replicas[0]))
        for each in wanted[:MOST_EFFECTS]
    ]
    if len(wanted) > MOST_EFFECTS:
        effects.append(Effect(f"and {len(wanted) - MOST_EFFECTS} others"))
    line = [command(request.cluster, "kafka-leader-election.sh", "--election-type", "preferred", "--topic", name,
                    "--partition", each.partition) for each in wanted[:20]]  # fmt: skip
    if not name or len(wanted) > len(line):
        line = [command(request.cluster, "kafka-leader-election.sh", "--election-type", "preferred",
                        "--all-topic-partitions")]  # fmt: skip
    back = f"/clusters/{part(request.cluster.name)}/" + (f"topics/{part(name)}" if name else "brokers")
    return PlannedChange("Elect preferred leaders", "\n".join(line), apply, back, effects)


def _failures(failed: dict[TopicPartition, KafkaError]) -> str:
    if not failed:
        return ""
    partition, error = next(iter(sorted(failed.items())))
    return f" {len(failed)} could not be, {partition} for example: {error.message}"


_NEW = (
    RouteParameter("name", "The name of the topic.", is_required=True),
    RouteParameter("partitions", "How many; the default of the brokers unless given.", "integer"),
    RouteParameter("factor", "How many replicas; the default of the brokers unless given.", "integer"),
    RouteParameter("settings", "A line name=value for each setting of its own."),
)
ROUTES = (
    reads(f"{CLUSTER}/topics/new", new_topic, "The form for a new topic.", NewTopicPage, under="Topics", in_api=False),
    changes(f"{CLUSTER}/topics/check", check, "Says what is wrong with a new topic; creates nothing.", *_NEW,
            under="Topics", answer=NewTopicPage),
    changes(f"{CLUSTER}/topics", create, "Creates a topic.", *_NEW, under="Topics"),
    changes(f"{CLUSTER}/topics/{{topic}}/delete", delete, "Deletes a topic.", under="Topics"),
    changes(f"{CLUSTER}/topics/{{topic}}/partitions", add_partitions, "Gives a topic more partitions.",
            RouteParameter("count", "How many it has then.", "integer", is_required=True), under="Topics"),
    changes(f"{CLUSTER}/elections", elect, "Elects the preferred leaders of a topic, or of all.",
            RouteParameter("topic", "Of this topic only."), under="Topics"),
)  # fmt: skip
