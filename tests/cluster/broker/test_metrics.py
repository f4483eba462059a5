"""Metrics of a running broker: fed, and scraped over HTTP without holding anybody up."""

import asyncio
import gc
import re
import time
from pathlib import Path

import pytest

from kafka_py.broker.observe.metrics_http import MetricsServer
from kafka_py.net.scraping.endpoint import MOST_AT_ONCE, in_slices
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.testing.peers import promtool
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

PARTITIONS = 1000


async def http(port: int, request: str, *, close_early: bool = False) -> tuple[str, dict[str, str], str]:
    """Status line, headers and body of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request.encode())
        if close_early:
            writer.write_eof()
        async with asyncio.timeout(20):
            answer = (await reader.read()).decode()
    finally:
        writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    status, *lines = head.split("\r\n")
    return status, dict(line.split(": ", 1) for line in lines), body


def port_of(broker: LocalBroker) -> int:
    address = broker.server.observation.address
    assert address is not None
    return int(re.findall(r":(\d+)/metrics", address)[0])


async def scrape(broker: LocalBroker, query: str = "") -> dict[str, float]:
    status, headers, body = await http(port_of(broker), f"GET /metrics{query} HTTP/1.1\r\nHost: x\r\n\r\n")
    assert status == "HTTP/1.1 200 OK"
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert int(headers["Content-Length"]) == len(body.encode())
    lines = [line for line in body.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


@on_broker(metrics_http_port=0)
async def test_what_a_broker_does_shows_in_its_metrics(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    for _ in range(3):
        assert (await broker.produce("t", batch(b"a", b"b"))).error_code == 0
    await broker.produce("nope", batch(b"a"))
    await broker.fetch("t", 0, max_wait_ms=0)
    await broker.ask(ApiVersionsRequest(client_software_name="me", client_software_version="1.0"), 3)
    found = await scrape(broker)
    assert found["kafka_controller_kafkacontroller_activecontrollercount"] == 1
    assert found["kafka_controller_kafkacontroller_globalpartitioncount"] == 2
    assert found["kafka_server_kafkaserver_brokerstate"] == 3
    assert found["kafka_server_brokertopicmetrics_messagesin_total"] == 6
    assert found['kafka_server_brokertopicmetrics_messagesin_total{topic="t"}'] == 6
    assert found['kafka_server_brokertopicmetrics_bytesout_total{topic="t"}'] > 0
    assert found["kafka_server_replicamanager_leadercount"] == 2
    assert found['kafka_log_log_logendoffset{topic="t",partition="0"}'] == 6
    assert found['kafka_cluster_partition_insyncreplicascount{topic="t",partition="1"}'] == 1
    assert found['kafka_server_delayedoperationpurgatory_purgatorysize{delayedOperation="Fetch"}'] == 0
    for step in ("requestqueue", "local", "remote", "responsequeue", "responsesend", "total"):
        assert found[f'kafka_network_requestmetrics_{step}timems_count{{request="Produce"}}'] == 4
        assert found[f'kafka_network_requestmetrics_{step}timems_count{{request="FetchConsumer"}}'] == 1
        assert f'kafka_network_requestmetrics_{step}timems{{request="Fetch",quantile="0.99"}}' in found
    errors = "kafka_network_requestmetrics_errors_total"
    assert found[f'{errors}{{request="Produce",error="UNKNOWN_TOPIC_OR_PARTITION"}}'] == 1
    assert found[f'{errors}{{request="Produce",error="NONE"}}'] == 3
    labels = 'clientSoftwareName="me",clientSoftwareVersion="1.0",listener="PLAINTEXT",networkProcessor="0"'
    assert found[f"kafka_server_socket_server_metrics_connections{{{labels}}}"] == 1
    assert found["process_open_fds"] > 5
    assert found["process_resident_memory_bytes"] > 1 << 20
    assert found['kafka_server_app_info_starttimems{id="0"}'] > 0


@on_broker(metrics_http_port=0)
async def test_names_of_other_rules_are_served_where_they_are_asked_for(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a"))
    await broker.ask(ApiVersionsRequest(client_software_name="me", client_software_version="1.0"), 3)
    usual = await scrape(broker)
    labels = 'clientSoftwareName="me",clientSoftwareVersion="1.0",listener="PLAINTEXT",networkProcessor="0"'
    assert usual[f"kafka_server_socket_server_metrics_connections_software{{{labels}}}"] == 1
    assert "kafka_network_socketserver_networkprocessoravgidle_percent" in usual
    found = await scrape(broker, "?names=confluent")
    assert found['kafka_server_brokertopicmetrics_messagesinpersec{topic="t"}'] == 1
    assert found['kafka_log_log_logendoffset{topic="t",partition="0"}'] == 1
    assert "process_open_fds" in found and "kafka_server_kafkaserver_clusterid_info" not in "".join(found)
    assert not [name for name in found if "messagesin_total" in name]
    jmx = await scrape(broker, "?names=jmx")
    assert not [name for name in jmx if "socket_server_metrics" in name or "avgidle_percent" in name]
    assert set(jmx) <= set(usual)


@on_broker(metrics_http_port=0)
async def test_names_that_there_are_not_are_refused(broker: LocalBroker) -> None:
    status, _, body = await http(port_of(broker), "GET /metrics?names=x HTTP/1.1\r\n\r\n")
    assert status == "HTTP/1.1 400 Bad Request"
    assert body == "there are no names 'x': names is one or more of own,jmx,strimzi,confluent\n"


@pytest.mark.skipif(promtool.program() is None, reason="promtool is not installed")
@on_broker(metrics_http_port=0)
async def test_prometheus_own_checker_accepts_the_text_of_all_names(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    await broker.produce("t", batch(b"a"))
    await broker.fetch("t", 0, max_wait_ms=0)
    for names in ("", "?names=own,jmx,strimzi,confluent"):
        _, _, body = await http(port_of(broker), f"GET /metrics{names} HTTP/1.1\r\n\r\n")
        assert await asyncio.to_thread(promtool.complaints, body) == []


@on_broker(metrics_http_port=0)
async def test_failures_in_the_background_are_counted_by_activity(broker: LocalBroker) -> None:
    assert not [name for name in await scrape(broker) if name.startswith("background_")]
    for work in (lambda: 1 // 0, lambda: 0):
        broker.server.supervisor.call("shrinking of in-sync sets", work)
    assert (await scrape(broker))['background_failures_total{activity="shrinking of in-sync sets"}'] == 1


@on_broker(metrics_http_port=0)
async def test_what_is_gone_is_not_measured_any_more(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.produce("t", batch(b"a"))
    assert [name for name in await scrape(broker) if 'topic="t"' in name]
    await broker.server.node.topics.delete("t")
    await broker.until(lambda: not broker.server.node.metadata.has_topic("t"))
    await broker.until(lambda: not list(broker.server.node.log_dirs.all_logs()))
    assert not [name for name in await scrape(broker) if 'topic="t"' in name]


@on_broker()
async def test_without_a_port_nothing_listens(broker: LocalBroker) -> None:
    assert broker.server.observation.address is None


@on_broker(metrics_http_port=0)
async def test_only_metrics_are_served(broker: LocalBroker) -> None:
    address = broker.server.observation.address
    assert address is not None
    port = int(re.findall(r":(\d+)/", address)[0])
    assert (await http(port, "GET / HTTP/1.1\r\n\r\n"))[0] == "HTTP/1.1 404 Not Found"
    assert (await http(port, "POST /metrics HTTP/1.1\r\n\r\n"))[0] == "HTTP/1.1 405 Method Not Allowed"
    status, headers, body = await http(port, "HEAD /metrics HTTP/1.1\r\n\r\n")
    assert (status, body) == ("HTTP/1.1 200 OK", "") and int(headers["Content-Length"]) > 1000
    assert (await http(port, "GET /metrics?x=1 HTTP/1.0\r\n\r\n"))[0] == "HTTP/1.1 200 OK"
    assert (await http(port, "rubbish", close_early=True))[0] == ""
    assert (await http(port, "GET /" + "x" * 100_000 + " HTTP/1.1\r\n\r\n"))[0] == ""
    await broker.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 5)


@on_broker(metrics_http_port=0)
async def test_scrapes_at_once_are_bounded(broker: LocalBroker) -> None:
    server = broker.server.observation._server
    assert isinstance(server, MetricsServer)
    server._scrapes = MOST_AT_ONCE
    assert (await http(server.port, "GET /metrics HTTP/1.1\r\n\r\n"))[0] == "HTTP/1.1 503 Service Unavailable"
    server._scrapes = 0
    assert await scrape(broker)


@on_broker(metrics_http_port=0)
async def test_a_scrape_of_a_thousand_partitions_is_quick_and_holds_nobody_up(broker: LocalBroker) -> None:
    """A guard against work in one piece: some 15 ms in turns, of processor time.

    benchmarks/loop_holds.py measures them; on a machine that other tests share they may take several times that.
    """
    await broker.create_topic("many", PARTITIONS)
    await broker.until(lambda: broker.server.node.hosted.count_led() == PARTITIONS)
    server = broker.server.observation._server
    assert isinstance(server, MetricsServer)
    loop, scrapes = asyncio.get_running_loop(), []
    gc.freeze()  # as the broker's process does after its start
    try:
        for _ in range(5):
            turns = []
            last_s = time.thread_time()
            work = loop.create_task(server.scrape())
            while not work.done():
                await asyncio.sleep(0)
                now_s = time.thread_time()
                turns.append(now_s - last_s)
                last_s = now_s
            assert b"".join(work.result()).count(b"\n") > 10 * PARTITIONS
            scrapes.append((sum(turns), max(turns)))
    finally:
        gc.unfreeze()
    assert min(whole_s for whole_s, _ in scrapes) < 0.2
    assert min(turn_s for _, turn_s in scrapes) < 0.01


def test_long_work_is_done_in_slices() -> None:
    now, turns = 0.0, 0

    def clock() -> float:
        nonlocal now
        now += 0.001
        return now

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run() -> None:
        task = asyncio.create_task(others())
        await in_slices(iter(range(100)), clock, 0.01)
        task.cancel()

    asyncio.run(run())
    assert 8 <= turns <= 11


def test_csv_and_own_reporters_get_the_metrics(tmp_path: Path) -> None:
    csv = tmp_path / "csv"

    @on_broker(
        kafka_metrics_reporters="kafka.metrics.KafkaCSVMetricsReporter",
        kafka_csv_metrics_reporter_enabled="true",
        kafka_csv_metrics_dir=csv,
        kafka_metrics_polling_interval_secs=1,
    )
    async def scenario(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        await broker.produce("t", batch(b"a"))
        file = csv / "kafka.log.Log.LogEndOffset-topic-partition.csv"
        await broker.until(lambda: file.exists() and ",t,0,1" in file.read_text())

    scenario()
    assert (csv / "kafka.server.BrokerTopicMetrics.BytesInPerSec.csv").exists()
