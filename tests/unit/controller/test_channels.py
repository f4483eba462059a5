"""The channel to one broker: one request in flight, sent again until answered, dropped with the broker."""

import asyncio

from kafka_py.base.meters import MetricRegistry
from kafka_py.controller.channels import Channels
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.decisions.steps import Address
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse


class Peer:
    """A broker that answers by a script: a response, an exception to raise, or None for no answer at all."""

    def __init__(self, *script):
        self.script = list(script)
        self.sent = []
        self.connections = 0
        self.open = 0
        self.in_flight = 0

    async def connect(self, address):
        assert address == Address("h", 1)
        self.connections += 1
        self.open += 1
        return self

    def close(self):
        self.open -= 1

    async def send(self, request, version):
        assert self.in_flight == 0
        self.in_flight += 1
        try:
            self.sent.append((request.controller_epoch, version))
            step = self.script.pop(0) if self.script else UpdateMetadataResponse(error_code=0)
            if step is None:
                await asyncio.sleep(10_000)
            if isinstance(step, Exception):
                raise step
            await asyncio.sleep(0.01)
            return step
        finally:
            self.in_flight -= 1


def request(number):
    return ControllerRequest(1, UpdateMetadataRequest(controller_id=1, controller_epoch=number, live_brokers=[]), 7)


def channels_to(peer, replies):
    clock = virtual_clock()
    channels = Channels(
        peer.connect, lambda sent, response: replies.append((sent.message.controller_epoch, response.error_code)),
        request_timeout_ms=30_000, clock=clock, registry=MetricRegistry(clock),
    )  # fmt: skip
    channels.add(1, Address("h", 1))
    return channels


def test_requests_go_one_by_one_over_one_connection():
    async def run():
        peer, replies = Peer(), []
        channels = channels_to(peer, replies)
        for number in range(3):
            channels.send(request(number))
        assert channels.waiting == 3
        await asyncio.sleep(1)
        assert replies == [(0, 0), (1, 0), (2, 0)]
        assert peer.connections == 1
        assert channels.waiting == 0
        channels.close()

    run_virtual(run())


def test_a_failed_request_is_sent_again_after_100_ms_over_a_new_connection():
    async def run():
        peer, replies = Peer(ConnectionResetError(), ConnectionResetError()), []
        channels = channels_to(peer, replies)
        channels.send(request(0))
        channels.send(request(1))
        await asyncio.sleep(0.15)
        assert peer.sent == [(0, 7), (0, 7)]
        await asyncio.sleep(1)
        assert peer.sent == [(0, 7), (0, 7), (0, 7), (1, 7)]
        assert replies == [(0, 0), (1, 0)]
        assert (peer.connections, peer.open) == (3, 1)
        channels.close()
        assert peer.open == 0

    run_virtual(run())


def test_no_answer_within_the_request_timeout_counts_as_a_failure():
    async def run():
        peer, replies = Peer(None), []
        channels = channels_to(peer, replies)
        channels.send(request(0))
        await asyncio.sleep(29.9)
        assert len(peer.sent) == 1
        await asyncio.sleep(1)
        assert replies == [(0, 0)]
        assert peer.connections == 2
        channels.close()

    run_virtual(run())


def test_a_removed_broker_gets_nothing_more_and_its_reply_is_not_heard():
    async def run():
        peer, replies = Peer(), []
        channels = channels_to(peer, replies)
        channels.send(request(0))
        channels.send(request(1))
        await asyncio.sleep(0.005)
        channels.remove(1)
        await asyncio.sleep(1)
        assert (len(peer.sent), replies, peer.open) == (1, [], 0)
        channels.send(request(2))  # dropped
        channels.remove(1)  # twice is fine
        assert channels.waiting == 0

    run_virtual(run())


def test_queue_sizes_and_waiting_times_are_measured_and_vanish_with_the_broker():
    async def run():
        clock = virtual_clock()
        registry = MetricRegistry(clock)
        peer = Peer(None)
        channels = Channels(peer.connect, lambda *_: None, request_timeout_ms=9e9, clock=clock, registry=registry)
        channels.add(1, Address("h", 1))
        for number in range(3):
            channels.send(request(number))
        await asyncio.sleep(1)
        names = {reading.mbean: reading.attributes.get("Value") for reading in registry.read()}
        group = "kafka.controller:type=ControllerChannelManager"
        assert names[f"{group},name=TotalQueueSize"] == 2
        assert names[f"{group},name=QueueSize,broker-id=1"] == 2
        assert f"{group},name=RequestRateAndQueueTimeMs,broker-id=1" in names
        channels.close()
        assert not list(registry.read())

    run_virtual(run())
