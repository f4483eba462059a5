"""The log of requests: what of a message is shown."""

import io
import json
import logging
from types import SimpleNamespace

import pytest

from kafka_py.base.slices import FileSlice
from kafka_py.broker.observe.request_log import RequestLog, plain
from kafka_py.broker.settings.loggers import REQUESTS
from kafka_py.net.client_software import ClientSoftware
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.principal import ANONYMOUS
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kafka_py.wire.messages.fetch import FetchablePartitionResponse
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest

MOMENTS = (1.0, 1.001, 1.003, 1.01, 1.011, 1.0125, 80)


def test_fields_have_the_reference_s_names_and_only_those_of_the_version_are_shown() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=True)
    assert plain(request, 4) == {"topics": [{"name": "t"}], "allowAutoTopicCreation": True}
    assert "includeTopicAuthorizedOperations" in plain(request, 8)
    assert plain(MetadataRequest(topics=None), 1) == {"topics": None}


def test_records_are_shown_by_their_size() -> None:
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=b"12345")])
    shown = plain(ProduceRequest(acks=1, timeout_ms=5, topic_data=[data]), 8)
    assert shown["topicData"][0]["partitionData"] == [{"index": 0, "recordsSizeInBytes": 5}]
    assert plain(PartitionProduceData(index=0, records=None), 8) == {"index": 0, "records": None}
    part = FileSlice(io.BytesIO(), 0, 70)
    answer = plain(
        FetchablePartitionResponse(partition=0, error_code=0, high_watermark=0, record_set=[part, b"123"]), 11
    )
    assert answer["recordSetSizeInBytes"] == 73


def test_secrets_are_not_shown() -> None:
    assert plain(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 1) == {"authBytes": "(redacted)"}
    change = AlterableConfig(name="sasl.jaas.config", value="password")
    resource = AlterConfigsResource(resource_type=4, resource_name="0", configs=[change])
    assert "password" not in json.dumps(plain(AlterConfigsRequest(resources=[resource], validate_only=False), 1))


def test_a_line_says_who_asked_what_and_how_long_each_step_took(caplog: pytest.LogCaptureFixture) -> None:
    connection = SimpleNamespace(
        id="127.0.0.1:9092-127.0.0.1:5000-1", listener_name="CLIENT", security_protocol=SecurityProtocol.PLAINTEXT,
        principal=ANONYMOUS, client_software=ClientSoftware("me", "1.0"), peer_host="127.0.0.1",
    )  # fmt: skip
    context = SimpleNamespace(
        connection=connection, api=APIS[ApiKey.METADATA], api_version=4, correlation_id=7, client_id="c"
    )
    with caplog.at_level(logging.DEBUG, logger=REQUESTS):
        RequestLog().write(context, MetadataRequest(topics=[]), None, MOMENTS)  # type: ignore[arg-type]
    text = caplog.records[0].getMessage()
    row = json.loads(text.removeprefix("Completed request:"))
    assert row["requestHeader"] == {
        "requestApiKey": 3, "requestApiVersion": 4, "correlationId": 7, "clientId": "c",
        "requestApiKeyName": "METADATA",
    }  # fmt: skip
    assert (row["totalTimeMs"], row["requestQueueTimeMs"], row["localTimeMs"]) == (12.5, 1, 2)
    assert (row["remoteTimeMs"], row["responseQueueTimeMs"], row["sendTimeMs"]) == (7, 1, 1.5)
    assert (row["connection"], row["listener"], row["principal"]) == (connection.id, "CLIENT", "User:ANONYMOUS")
    assert row["clientInformation"] == {"softwareName": "me", "softwareVersion": "1.0"}


def test_it_is_on_from_debug_on() -> None:
    log, logger = RequestLog(), logging.getLogger(REQUESTS)
    before = logger.level
    try:
        for level, is_on in ((logging.WARNING, False), (logging.DEBUG, True), (5, True), (logging.INFO, False)):
            logger.setLevel(level)
            log.look_again()
            assert log.is_on is is_on
    finally:
        logger.setLevel(before)
