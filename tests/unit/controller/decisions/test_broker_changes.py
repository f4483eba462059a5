"""Brokers: who came and went, and where each is to be reached. What follows from it is in the transcripts."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.controller.decisions.broker_changes import BrokerChanges, address_of, compare
from kafka_py.controller.decisions.steps import Address
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.zk.brokers import RegisteredBroker
from kafka_py.zk.znodes import BrokerEndpoint


def broker(id_: int, epoch: int) -> RegisteredBroker:
    endpoint = BrokerEndpoint("INTERNAL", "PLAINTEXT", f"host{id_}", 9000 + id_)
    return RegisteredBroker(id_, epoch, (endpoint,), None, {})


def registered(**epochs: int) -> dict[int, RegisteredBroker]:
    return {int(name[1:]): broker(int(name[1:]), epoch) for name, epoch in epochs.items()}


def test_a_larger_epoch_tells_a_broker_that_came_back() -> None:
    known, found = registered(b1=5, b2=5, b3=5), registered(b1=5, b2=9, b4=9)
    assert compare(known, found) == BrokerChanges(new=[4], bounced=[2], dead=[3])
    assert compare(known, known) == BrokerChanges([], [], [])


def test_the_address_is_that_of_the_controllers_listener() -> None:
    assert address_of(broker(7, 1), "INTERNAL") == Address("host7", 9007)
    with pytest.raises(KafkaError) as caught:
        address_of(broker(7, 1), "EXTERNAL")
    assert caught.value.code is ErrorCode.LISTENER_NOT_FOUND


def test_a_broker_that_cannot_be_reached_holds_up_all_changes() -> None:
    script = ControllerScript()
    script.perform("brokers 1")
    script.znodes.brokers[7] = broker(7, 99)
    assert script.perform("start 2") == ["answer: LISTENER_NOT_FOUND"]
    assert script.cluster.brokers.keys() == {1}
