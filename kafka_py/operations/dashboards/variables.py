"""The variables of the dashboards. The data source is one more, of every dashboard (grafana.py)."""

from __future__ import annotations

from kafka_py.operations.dashboards.panels import Variable

BROKER_JOB = "kafka"
EXPORTER_JOB = "kafka-exporter"
"""Names of the scrape jobs unless given."""

_STATE = "kafka_server_kafkaserver_brokerstate"


def cluster_variable(job: str) -> Variable:
    """The cluster is the scrape job of its brokers."""
    return Variable("job", "Cluster (job)", _STATE, "job", expected=job)


INSTANCE = Variable("instance", "Broker", f'{_STATE}{{job="$job"}}', "instance", many=True)
TOPIC = Variable("topic", "Topic", 'kafka_log_log_size{job="$job"}', "topic", many=True)


def exporter_variable(job: str) -> Variable:
    """The scrape job of kafka-exporter."""
    return Variable("exporter", "Exporter (job)", "kafka_brokers", "job", expected=job)


GROUP = Variable("group", "Group", 'kafka_consumergroup_members{job="$exporter"}', "consumergroup", many=True)
GROUP_TOPIC = Variable("topic", "Topic", 'kafka_topic_partitions{job="$exporter"}', "topic", many=True)
