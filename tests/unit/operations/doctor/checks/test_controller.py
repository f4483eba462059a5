"""The controller: present, the only one, and all brokers know the same cluster."""

from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.operations.doctor.checks import controller
from kafka_py.operations.doctor.examination import MetricsSeen

from .seen_clusters import NODES, VERSIONS, ids, only, reached, seen, snapshot


def test_no_controller_is_an_error() -> None:
    assert only(controller.has_controller, seen(snapshot=snapshot(controller_id=-1))).id == "no-controller"
    assert ids(controller.has_controller, seen()) == []


def test_brokers_that_name_different_controllers_are_found() -> None:
    apart = {1: reached(1), 2: reached(2, controller_id=2), 3: reached(3)}
    finding = only(controller.one_controller, seen(advertised=apart))
    assert finding.evidence == ("brokers 1, 3 name controller 1", "brokers 2 name controller 2")
    assert ids(controller.one_controller, seen()) == []


def test_two_active_controllers_on_pages_of_metrics_are_found() -> None:
    name = "kafka_controller_kafkacontroller_activecontrollercount"
    pages = (MetricsSeen("a", values={name: 1.0}), MetricsSeen("b", values={name: 1.0}))
    assert only(controller.one_controller, seen(metrics=pages)).id == "controllers-differ"
    assert ids(controller.one_controller, seen(metrics=pages[:1])) == []


def test_brokers_of_kraft_name_any_broker() -> None:
    kraft = {**VERSIONS, controller.KRAFT_API: VersionRange(0, 1)}
    brokers = {broker: reached(broker, versions=kraft, controller_id=broker) for broker in NODES}
    assert ids(controller.one_controller, seen(advertised=brokers)) == []


def test_a_broker_that_does_not_know_all_others_is_found() -> None:
    stale = {1: reached(1), 2: reached(2, nodes=(NODES[2],))}
    assert only(controller.one_view, seen(advertised=stale)).evidence == (
        "broker 2 knows [2], the cluster is [1, 2, 3]",
    )
    assert ids(controller.one_view, seen()) == []
