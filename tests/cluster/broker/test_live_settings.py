"""Settings that change while the broker runs, at every scope: taken, shown with its source, put to work or refused.

What may change where is the column `dynamic` of the classic's table (KIP-226); the table here is checked against it.
"""

import socket
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.options import Kind, Live
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.background import ResizablePool
from kafka_py.net.client import BrokerConnection
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

BROKER = 4
SET, DELETE = 0, 1
DYNAMIC_BROKER, DYNAMIC_DEFAULT = 2, 3
LISTENERS = ("listeners", "advertised.listeners", "listener.security.protocol.map")
SAMPLES = {
    "log.cleanup.policy": "compact",
    "compression.type": "gzip",
    "log.message.timestamp.type": "LogAppendTime",
    "log.cleaner.min.cleanable.ratio": "0.25",
    "log.cleaner.io.buffer.load.factor": "0.5",
    "max.connections.per.ip.overrides": "127.0.0.9:5",
}
"""Values where the default with a little more would not do."""


def sample(name: str) -> str | None:
    """Another value than the default; None where none is to be had without more knowledge."""
    row: Any = BrokerConfig.ROWS[name]
    if name in SAMPLES:
        return SAMPLES[name]
    if row.kind is Kind.BOOLEAN:
        return "false" if row.default else "true"
    if row.kind in (Kind.INT, Kind.LONG) and row.default is not None:
        return str(row.default - 1 if row.default > 1 else 2)
    return None


async def change(broker: LocalBroker, scope: str, name: str, value: str | None) -> tuple[int, str]:
    """Sets one setting (None: takes it back) for all brokers ("") or for one. Returns code and text."""
    one = AlterableConfig(name=name, config_operation=DELETE if value is None else SET, value=value)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=scope, configs=[one])
    response = await broker.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    [answer] = response.responses
    return answer.error_code, answer.error_message or ""


async def shown(broker: LocalBroker, scope: str, name: str) -> tuple[str | None, int] | None:
    """Value and source of a setting."""
    asked = DescribeConfigsResource(resource_type=BROKER, resource_name=scope, configuration_keys=[name])
    response = await broker.ask(DescribeConfigsRequest(resources=[asked]), 4)
    found = response.results[0].configs
    return (found[0].value, found[0].config_source) if found else None


@on_broker()
async def test_what_may_change_for_all_brokers_may_change_for_one_too(broker: LocalBroker) -> None:
    own = broker.server.node.live_config
    rows = [name for name, row in BrokerConfig.ROWS.items() if row.live is Live.CLUSTER_WIDE and sample(name)]
    assert len(rows) > 35
    for name in rows:
        value = sample(name)
        for scope, source in (("", DYNAMIC_DEFAULT), ("0", DYNAMIC_BROKER)):
            assert await change(broker, scope, name, value) == (0, ""), (scope, name)
            layer = "own" if scope else "cluster_wide"
            await broker.until(lambda layer=layer, name=name: name in getattr(own, layer))
            assert await shown(broker, scope, name) == (value, source), (scope, name)
        attribute = BrokerConfig.ROWS[name].attribute
        assert own.current.text(name) == value and getattr(own.current, attribute) is not None
        for scope in ("0", ""):
            assert (await change(broker, scope, name, None))[0] == 0
        await broker.until(lambda name=name: name not in own.own and name not in own.cluster_wide)
        assert own.current.text(name) == own.static.text(name)


@on_broker()
async def test_what_may_change_for_one_broker_only_is_refused_for_all(broker: LocalBroker) -> None:
    stores = []
    for name, row in BrokerConfig.ROWS.items():
        if row.live is not Live.PER_BROKER:
            continue
        code, text = await change(broker, "", name, row.text(row.default) or "x")
        assert code == ErrorCode.INVALID_REQUEST
        if "using the listener prefix" in text:
            stores.append(name)
        else:
            assert "broker id must be specified" in text, name
    assert len(stores) == 10
    assert all(name.startswith(("ssl.key", "ssl.truststore.")) for name in stores)


@on_broker()
async def test_a_setting_that_is_read_once_cannot_change(broker: LocalBroker) -> None:
    fixed = [name for name, row in BrokerConfig.ROWS.items() if row.live is Live.READ_ONLY]
    for scope in ("", "0"):
        for name in (*fixed[:20], "log.dirs", "broker.id", "zookeeper.connect", "inter.broker.protocol.version"):
            code, text = await change(broker, scope, name, "1")
            assert code == ErrorCode.INVALID_REQUEST
            assert f"Cannot update these configs dynamically: Set({name})" in text


@on_broker()
async def test_a_broker_listens_where_it_is_told_while_it_runs(broker: LocalBroker) -> None:
    """A listener comes, is advertised, served, and goes again; the first one is not disturbed."""
    plain = f"PLAINTEXT://127.0.0.1:{broker.port}"
    protocols = "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT"
    assert await change(broker, "0", "listener.security.protocol.map", protocols) == (0, "")
    assert (await change(broker, "0", "listeners", f"{plain},EXTRA://127.0.0.1:0"))[0] == 0
    await broker.until(lambda: "EXTRA" in broker.server.ports)
    extra = broker.server.ports["EXTRA"]
    addresses = broker.server.node.metadata
    await broker.until(lambda: addresses.address(0, "EXTRA") is not None)
    found = addresses.address(0, "EXTRA")
    assert found is not None and found.port == extra
    client = await BrokerConnection.connect("127.0.0.1", extra, client_id="extra")

    assert (await change(broker, "0", "advertised.listeners", f"{plain},EXTRA://elsewhere:4711"))[0] == 0
    await broker.until(lambda: addresses.address(0, "EXTRA") == ("elsewhere", 4711))
    for name in ("advertised.listeners", "listeners"):
        assert (await change(broker, "0", name, None))[0] == 0
    await broker.until(lambda: addresses.address(0, "EXTRA") is None)
    assert list(broker.server.ports) == ["PLAINTEXT"]
    await broker.until(lambda: client.closed)  # connections end with their listener
    assert await shown(broker, "0", "listeners") is not None  # the first connection has lived through all of it


@on_broker()
async def test_a_listener_that_cannot_be_bound_keeps_no_other_setting_from_its_place(broker: LocalBroker) -> None:
    own, plain = broker.server.node.live_config, f"PLAINTEXT://127.0.0.1:{broker.port}"
    assert (await change(broker, "0", "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT"))[0] == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert (await change(broker, "0", "listeners", f"{plain},EXTRA://127.0.0.1:{port}"))[0] == 0
        await broker.until(lambda: "listeners" in own.own)
        assert await change(broker, "", "num.replica.fetchers", "2") == (0, "")
        await broker.until(lambda: broker.server.node.replication.fetchers._count == 2)
    assert await shown(broker, "0", "listeners") is not None  # this connection lives


@on_broker()
async def test_listeners_that_cannot_be_are_refused(broker: LocalBroker) -> None:
    plain = f"PLAINTEXT://127.0.0.1:{broker.port}"
    cases = [
        ("listeners", "nonsense"),
        ("listeners", f"{plain},{plain}"),
        ("listeners", "OTHER://127.0.0.1:0"),
        ("advertised.listeners", "EXTRA://here:1"),
        ("advertised.listeners", "PLAINTEXT://0.0.0.0:1"),
    ]
    for name, value in cases:
        code, _ = await change(broker, "0", name, value)
        assert code == ErrorCode.INVALID_REQUEST, value
    assert broker.server.node.live_config.own == {}
    assert list(broker.server.ports) == ["PLAINTEXT"]


@on_broker()
async def test_a_rate_of_replication_has_no_default_to_fall_back_on(broker: LocalBroker) -> None:
    name = "leader.replication.throttled.rate"
    assert await shown(broker, "0", name) is None
    assert (await change(broker, "0", name, "1024"))[0] == 0
    await broker.until(lambda: name in broker.server.node.live_config.own)
    asked = DescribeConfigsResource(resource_type=BROKER, resource_name="0", configuration_keys=[name])
    response = await broker.ask(DescribeConfigsRequest(resources=[asked], include_synonyms=True), 4)
    [entry] = response.results[0].configs
    assert [(one.value, one.source) for one in entry.synonyms] == [("1024", DYNAMIC_BROKER)]


@on_broker()
async def test_threads_for_what_blocks_come_and_go_within_bounds(broker: LocalBroker) -> None:
    code, text = await change(broker, "0", "num.io.threads", "17")
    assert code == ErrorCode.INVALID_REQUEST
    assert "should not be greater than double" in text
    assert (await change(broker, "0", "num.io.threads", "16"))[0] == 0
    pool = broker.server._executor
    assert isinstance(pool, ResizablePool)
    await broker.until(lambda: pool.threads == 16)
