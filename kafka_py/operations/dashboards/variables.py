"""The variables of the dashboards. The data source is one more, of every dashboard (grafana.py)."""

from __future__ import annotations

from kafka_py.operations.dashboards.panels import Variable

BROKER_JOB = "kafka"
EXPORTER_JOB = "kafka-exporter"
"""Names of the scrape jobs unless given."""

_STATE = "kafka_server_kafkaserver_brokerstate"


def job_variable(job: str) -> Variable:
    """The scrape job of the brokers."""
    return Variable("job", "Brokers (job)", _STATE, "job", expected=job)


CLUSTER = Variable("cluster", "Cluster", f'{_STATE}{{job="$job"}}', "cluster", many=True, optional=True)
"""A label that some give to targets, to have several clusters in a job."""
INSTANCE = Variable("instance", "Broker", f'{_STATE}{{job="$job",cluster=~"$cluster"}}', "instance", many=True)
TOPIC = Variable("topic", "Topic", 'kafka_log_log_size{job="$job",cluster=~"$cluster"}', "topic", many=True)


def exporter_variable(job: str) -> Variable:
    """The scrape job of kafka-exporter."""
    return Variable("exporter", "Exporter (job)", "kafka_brokers", "job", expected=job)


EXPORTED_CLUSTER = Variable(
    "cluster", "Cluster", 'kafka_brokers{job="$exporter"}', "cluster", many=True, optional=True
)
"""The web manager gives this label to all that it exports, kafka-exporter does not."""
GROUP = Variable(
    "group", "Group", 'kafka_consumergroup_members{job="$exporter",cluster=~"$cluster"}', "consumergroup", many=True
)
GROUP_TOPIC = Variable("topic", "Topic", 'kafka_topic_partitions{job="$exporter",cluster=~"$cluster"}', "topic",
                       many=True)  # fmt: skip
