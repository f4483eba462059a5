"""kill -9 under load, again and again: what was acknowledged is there, once, in order; see testing/peers/load.py."""

import pytest

from kafka_py.testing.peers.load import confluent_load, our_load, read_all, read_numbers

KILLS = 20


@pytest.mark.timeout(400)
@pytest.mark.parametrize("make_load", [confluent_load, our_load])
def test_nothing_acknowledged_is_lost_repeated_or_out_of_order(broker_process, make_load):
    broker, topic = broker_process, f"killed-{make_load.__name__}".replace("_", "-")
    broker.create_topic(topic, partitions=1, configs={"segment.bytes": "4000000"})
    load = make_load(broker.bootstrap, topic)
    verified = 0
    try:
        for _ in range(KILLS):
            load.wait_acknowledged(load.acknowledged + 2000)
            broker.kill()
            load.hold()
            acknowledged = load.acknowledged
            broker.start()
            assert read_numbers(broker.bootstrap, topic, verified, acknowledged) == list(range(verified, acknowledged))
            verified = acknowledged
            load.go_on()
        load.wait_acknowledged(load.acknowledged + 2000)
        load.finish()
    finally:
        load.stop()
    read_all(broker.bootstrap, topic, load.sent, verified=verified)
