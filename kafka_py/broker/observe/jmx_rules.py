"""Names of metrics for Prometheus, by rules: from an attribute of a bean to a name, a kind and labels. Pure.

    kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t   Count
    own, jmx:    kafka_server_brokertopicmetrics_bytesin_total{topic="t"}
    confluent:   kafka_server_brokertopicmetrics_bytesinpersec{topic="t"}

A rule set is what one usual file of rules of the JMX exporter makes of Kafka's beans; dashboards ask for these names.
In a set the first rule that fits is taken, as the exporter does; a bean that none fits has no name there.
Source: docs/metrics.md; the example rules of its JMX exporter and those of Strimzi for percentages and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from kafka_py.net.scraping.exposition import fit_name

COUNTER, GAUGE = "counter", "gauge"


class RuleSet(StrEnum):
    """OWN: all metrics. JMX: kafka-2_0_0.yml of the JMX exporter. STRIMZI, CONFLUENT: the files of these two."""

    OWN = "own"
    JMX = "jmx"
    STRIMZI = "strimzi"
    CONFLUENT = "confluent"


USUAL = (RuleSet.OWN, RuleSet.JMX, RuleSet.STRIMZI)


class BeanAttribute(NamedTuple):
    """group: domain and type, as kafka.server:type=Produce. name: of the bean, "" of a bean of many attributes.

    tags: the other parts of the bean's name, in order.
    """

    group: str
    name: str
    tags: tuple[str, ...]
    attribute: str


class SampleName(NamedTuple):
    """What an attribute is called. labels: one per tag, in their order. fixed: further labels, formatted."""

    name: str
    kind: str
    labels: tuple[str, ...]
    fixed: str = ""


class NameRule(NamedTuple):
    """The name, in which {domain} {type} {name} {attribute} are parts of the bean, and the beans that it is for.

    type, name, tags, attribute: expressions that fit the whole part; a group in one is what the part is called then.
    tags: as `topic,partition`. labels: of tags that are called otherwise. fixed: further labels.
    """

    result: str
    kind: str
    type: str = ".+"
    name: str = ".+"
    tags: str = ".*"
    attribute: str = ".+"
    labels: Mapping[str, str] = {}
    fixed: str = ""


_NAMED = "kafka_{domain}_{type}_{name}"
_QUANTILE = NameRule(_NAMED, GAUGE, attribute=r"(\d+)thPercentile", fixed='quantile="0.{attribute}"')
_PER_SECOND = NameRule(f"{_NAMED}_total", COUNTER, name=r"(.+)PerSec\w*", attribute="Count")
_SHARE = NameRule(f"{_NAMED}_percent", GAUGE, name=r"(.+)Percent\w*", attribute="MeanRate")
_VALUE = NameRule(_NAMED, GAUGE, attribute="Value")
_COUNT = NameRule(f"{_NAMED}_count", COUNTER, attribute="Count")
_NO_NAME = ""
_QUOTA = "Produce|Fetch|Request|ControllerMutation"
_SELECTOR = "socket-server-metrics"

RULES: Mapping[RuleSet, tuple[NameRule, ...]] = {
    RuleSet.OWN: (
        _PER_SECOND,
        _SHARE,
        _QUANTILE,
        _VALUE,
        _COUNT,
        NameRule(f"{_NAMED}_total", COUNTER, attribute="Total"),
        NameRule("kafka_{domain}_{type}_{attribute}", GAUGE, name=_NO_NAME),
    ),
    RuleSet.JMX: (
        _PER_SECOND,
        NameRule("kafka_server_quota_{attribute}", GAUGE, type=_QUOTA, name=_NO_NAME, tags="(user|client-id|,)+",
                 labels={"client-id": "clientId"}, fixed='resource="{type}"'),
        _VALUE,
        _COUNT,
        _QUANTILE,
    ),
    RuleSet.STRIMZI: (
        NameRule("kafka_server_{type}_connections_tls_info", GAUGE, name=_NO_NAME, tags="cipher,protocol,.+",
                 attribute="connections"),
        NameRule("kafka_server_{type}_connections_software", GAUGE, name=_NO_NAME, attribute="connections",
                 tags="clientSoftwareName,clientSoftwareVersion,.+"),
        NameRule("kafka_server_{type}_{attribute}", GAUGE, name=_NO_NAME, tags="listener,networkProcessor"),
        _SHARE,
        NameRule(f"{_NAMED}_percent", GAUGE, name=r"(.+)Percent\w*", attribute="Value"),
        _PER_SECOND,
        _VALUE,
        _COUNT,
        _QUANTILE,
    ),
    RuleSet.CONFLUENT: (
        NameRule(_NAMED, COUNTER, name=r".+PerSec\w*", attribute="Count"),
        NameRule(_NAMED, GAUGE, attribute="Count|Value"),
        NameRule(f"{_NAMED}_total", GAUGE, name="RequestHandlerAvgIdlePercent", attribute="OneMinuteRate"),
        NameRule("kafka_server_socketservermetrics_connections", GAUGE, type=_SELECTOR, name=_NO_NAME,
                 tags="clientSoftwareName,clientSoftwareVersion,.+", attribute="connections",
                 labels={"clientSoftwareName": "client_software_name", "networkProcessor": "network_processor",
                         "clientSoftwareVersion": "client_software_version"}),
        NameRule("kafka_server_socketservermetrics_{attribute}", GAUGE, type=_SELECTOR, name=_NO_NAME,
                 tags="listener,networkProcessor", labels={"networkProcessor": "network_processor"}),
        NameRule("kafka_server_{type}_{attribute}", GAUGE, type=_QUOTA, name=_NO_NAME, tags="(user|client-id|,)+"),
        _QUANTILE,
    ),
}  # fmt: skip

_GROUP = re.compile(r"(?:kafka[._])?([\w.]+):type=(.+)")
_OF_KAFKA = "kafka."


class MetricNames:
    """The names of attributes in some rule sets, found once per kind of bean. sets: in the order in which they count:
    what two of them call alike is there once."""

    def __init__(self, sets: Collection[RuleSet] = USUAL) -> None:
        self.sets = tuple(each for each in RuleSet if each in sets)
        self._found: dict[BeanAttribute, tuple[SampleName, ...]] = {}

    def of(self, bean: BeanAttribute) -> tuple[SampleName, ...]:
        """All names of an attribute; none where no rule fits."""
        found = self._found.get(bean)
        if found is None:
            found = self._found[bean] = names_of(bean, self.sets)
        return found


def names_of(bean: BeanAttribute, sets: Collection[RuleSet]) -> tuple[SampleName, ...]:
    """The names of an attribute in these sets. Beans that are not Kafka's have those of OWN, whatever the sets."""
    named: dict[tuple[str, tuple[str, ...], str], SampleName] = {}
    for each in sets if bean.group.startswith(_OF_KAFKA) else (RuleSet.OWN,):
        name = name_in(bean, each)
        if name is not None:
            named.setdefault((name.name, name.labels, name.fixed), name)
    return tuple(named.values())


def name_in(bean: BeanAttribute, rule_set: RuleSet) -> SampleName | None:
    """The name of an attribute in one set; None if no rule fits it."""
    found = _GROUP.fullmatch(bean.group)
    domain, kind = found.groups() if found else ("", bean.group)
    for rule in RULES[rule_set]:
        parts = _parts(rule, kind, bean)
        if parts is not None:
            name = rule.result.format(domain=domain, **parts).removeprefix("" if _is_kafkas(bean) else "kafka_py_")
            name = fit_name(name).lower()
            labels = tuple(_label(rule, rule_set, tag) for tag in bean.tags)
            is_counter = rule.kind == COUNTER or (bean.name or bean.attribute).endswith("total")
            return SampleName(name, COUNTER if is_counter else GAUGE, labels, rule.fixed.format(**parts))
    return None


def _is_kafkas(bean: BeanAttribute) -> bool:
    return bean.group.startswith(_OF_KAFKA)


def _parts(rule: NameRule, kind: str, bean: BeanAttribute) -> dict[str, str] | None:
    """The parts of the bean as the rule calls them; None if it does not fit."""
    parts = {}
    for part, expression, value in (
        ("type", rule.type, kind),
        ("name", rule.name, bean.name),
        ("attribute", rule.attribute, bean.attribute),
    ):
        match = re.fullmatch(expression, value)
        if match is None:
            return None
        parts[part] = match[1] if match.re.groups else value
    return parts if re.fullmatch(rule.tags, ",".join(bean.tags)) else None


def _label(rule: NameRule, rule_set: RuleSet, tag: str) -> str:
    """The label of a tag; that file of rules has all labels in small letters."""
    label = fit_name(rule.labels.get(tag, tag))
    return label.lower() if rule_set is RuleSet.CONFLUENT else label


def sets_named(texts: Collection[str]) -> tuple[RuleSet, ...]:
    """The sets of a query such as `names=own,jmx`; the usual ones if none are named. Raises ValueError."""
    words = [word for text in texts for word in text.split(",") if word]
    unknown = [word for word in words if word not in set(RuleSet)]
    if unknown:
        raise ValueError(f"there are no names {unknown[0]!r}: names is one or more of {','.join(RuleSet)}")
    return tuple(each for each in RuleSet if each in words) or USUAL
