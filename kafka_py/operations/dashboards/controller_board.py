"""The dashboard of the controller: who has the role, what it does, which elections took place."""

from __future__ import annotations

from kafka_py.operations.dashboards import expressions as shared
from kafka_py.operations.dashboards.panels import (
    BAD_ABOVE_0,
    WARN_ABOVE_0,
    Dashboard,
    Query,
    Row,
    Threshold,
    Unit,
    series,
    stat,
)
from kafka_py.operations.dashboards.variables import CLUSTER, INSTANCE, job_variable

_CONTROLLER = "kafka_controller_kafkacontroller"
_STATS = "kafka_controller_controllerstats"
_EVENTS = ("controllerchange", "leaderelection", "isrchange", "topicchange", "topicdeletion", "partitionreassignment",
           "leaderandisrresponsereceived", "controlledshutdown", "autoleaderbalance", "logdirchange")  # fmt: skip

_STATE = Row("State", (
    stat("Active controllers", "Exactly one broker is the controller.", shared.ACTIVE_CONTROLLERS,
         Threshold(1, "green"), Threshold(2, "red"), base_color="red"),
    stat("Offline partitions", "Partitions without a leader.", shared.OFFLINE_PARTITIONS, *BAD_ABOVE_0),
    stat("Unclean elections", "Leaders that were elected outside the in-sync set lately: records were lost.",
         shared.UNCLEAN_ELECTIONS, *BAD_ABOVE_0),
    stat("Leaders not preferred", "Partitions that are not led by their first replica.",
         f"max({_CONTROLLER}_preferredreplicaimbalancecount{{@cluster}})", *WARN_ABOVE_0),
    stat("Topics to delete", "Whose deletion has begun and is not done.",
         f"max({_CONTROLLER}_topicstodeletecount{{@cluster}})"),
    stat("Topics that cannot be deleted", "For a broker is down, or replicas are moved.",
         f"max({_CONTROLLER}_topicsineligibletodeletecount{{@cluster}})", *WARN_ABOVE_0),
))  # fmt: skip

_WORK = Row("Work", (
    series("Active controller", "1 is the broker with the role.",
           Query(f"{_CONTROLLER}_activecontrollercount{{@brokers}}", "{{instance}}"), stacked=True),
    series("State", "What the controller does: 0 is idle, other numbers are kinds of events.",
           Query(f"{_CONTROLLER}_controllerstate{{@brokers}}", "{{instance}}")),
    series("Event queue", "Events that wait; a queue that stays long delays every change of leader.",
           Query(shared.CONTROLLER_QUEUE, "{{instance}}")),
    series("Time in the queue, 99th percentile", "Of events of the controller.",
           Query('kafka_controller_controllereventmanager_eventqueuetimems{@brokers,quantile="0.99"}', "{{instance}}"),
           unit=Unit.MS),
    series("Events", "By kind, per minute.",
           *[Query(f"sum(rate({_STATS}_{event}rateandtimems_count{{@cluster}}[@window])) * 60", event)
             for event in _EVENTS]),
    series("Time of events, 99th percentile", "By kind.",
           *[Query(f'max({_STATS}_{event}rateandtimems{{@cluster,quantile="0.99"}})', event) for event in _EVENTS],
           unit=Unit.MS),
    series("Requests that wait for brokers", "Of the controller; a broker that does not answer has a long queue.",
           Query("max by (broker_id) (kafka_controller_controllerchannelmanager_queuesize{@cluster})",
                 "broker {{broker_id}}")),
    series("Time of requests to brokers, 99th percentile", "With the time in the controller's queue.",
           Query("max by (broker_id)"
                 ' (kafka_controller_controllerchannelmanager_requestrateandqueuetimems{@cluster,quantile="0.99"})',
                 "broker {{broker_id}}"), unit=Unit.MS),
    series("Unclean elections", "Per minute: leaders that were elected outside the in-sync set.",
           Query(f"sum(rate({_STATS}_uncleanleaderelections_total{{@cluster}}[@window])) * 60", "unclean")),
    series("State of brokers", "3 is running, 1 starting, 2 recovering, 6 and 7 shutting down.",
           Query("kafka_server_kafkaserver_brokerstate{@brokers}", "{{instance}}")),
    series("Reassigning partitions", "Whose replicas are being moved, by leader.",
           Query("kafka_server_replicamanager_reassigningpartitions{@brokers}", "{{instance}}")),
    series("Reassigned bytes", "Copied for reassignments.",
           Query("sum by (instance)"
                 " (rate(kafka_server_brokertopicmetrics_reassignmentbytesin_total{@brokers}[@window]))",
                 "{{instance}}"), unit=Unit.BYTES_PER_S),
))  # fmt: skip


def dashboard(job: str) -> Dashboard:
    """job: the scrape job that is chosen at first."""
    return Dashboard(
        "kafka_py-controller", "Kafka: controller", "The controller's state, events and elections.",
        (job_variable(job), CLUSTER, INSTANCE), (_STATE, _WORK),
    )  # fmt: skip
