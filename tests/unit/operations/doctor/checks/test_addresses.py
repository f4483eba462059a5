"""Advertised addresses: unreachable, local, shared, or another broker's."""

from kafka_py.operations.doctor.checks import addresses
from kafka_py.operations.doctor.examination import ReachFault, ReachStep

from .seen_clusters import ids, only, reached, seen


def test_an_address_that_cannot_be_reached_names_broker_and_setting() -> None:
    lost = reached(2, host="10.1.1.1", failed=ReachStep.PORT, fault=ReachFault.NO_ANSWER, detail="no answer")
    finding = only(addresses.advertised_addresses, seen(advertised={1: reached(1), 2: lost}))
    assert finding.id == "advertised-unreachable"
    assert "Broker 2 advertises 10.1.1.1:9092" in finding.what
    assert "advertised.listeners=LISTENER://kafka1:9092 in server.properties of broker 2" in finding.repair


def test_a_name_that_is_unknown_here_may_also_be_made_known() -> None:
    lost = reached(2, host="inside", failed=ReachStep.NAME, fault=ReachFault.UNKNOWN_NAME, detail="unknown")
    finding = only(addresses.advertised_addresses, seen(advertised={2: lost}))
    assert "the name is not known here" in finding.what
    assert "/etc/hosts" in finding.repair


def test_a_refused_port_may_be_that_of_a_stopped_broker() -> None:
    lost = reached(2, failed=ReachStep.PORT, fault=ReachFault.REFUSED, detail="refused")
    assert "`listeners`" in only(addresses.advertised_addresses, seen(advertised={2: lost})).repair


def test_localhost_is_explained_to_a_client_that_came_from_elsewhere() -> None:
    lost = reached(2, host="localhost", failed=ReachStep.PORT, fault=ReachFault.REFUSED, detail="refused")
    assert "whatever machine" in only(addresses.advertised_addresses, seen(advertised={2: lost})).what


def test_a_loopback_address_is_found_even_if_something_answers_there() -> None:
    lost = reached(2, host="127.0.0.1")
    finding = only(addresses.local_addresses, seen(advertised={1: reached(1), 2: lost}))
    assert (finding.id, "kafka1" in finding.repair) == ("advertised-local", True)
    came_by_it = seen(bootstrap=(reached(host="localhost"),), advertised={2: lost})
    assert ids(addresses.local_addresses, came_by_it) == []


def test_the_address_of_all_interfaces_is_local_as_well() -> None:
    anywhere = reached(2, host="0.0.0.0")
    assert only(addresses.local_addresses, seen(advertised={2: anywhere})).id == "advertised-local"


def test_brokers_with_one_address_are_found() -> None:
    assert only(addresses.same_address, seen(advertised={1: reached(1), 2: reached(1)})).id == "advertised-same"


def test_another_broker_at_the_address_is_found() -> None:
    answer = "Unexpected broker id, expected 3 or empty string, but received 2"
    finding = only(addresses.another_broker, seen(foreign_brokers={2: answer}))
    assert (finding.id, finding.evidence) == ("advertised-other-broker", (answer,))


def test_addresses_in_order_are_no_finding() -> None:
    for check in (addresses.advertised_addresses, addresses.local_addresses, addresses.same_address,
                  addresses.another_broker):  # fmt: skip
        assert ids(check, seen()) == []
