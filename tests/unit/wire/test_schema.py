"""kafka_py.wire.schema: what the decorators make of a class."""

import subprocess
import sys
from uuid import UUID

import pytest

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.fetch import EpochEndOffset, FetchablePartitionResponse, FetchRequest
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataResponseTopic
from kafka_py.wire.messages.produce import PartitionProduceData, PartitionProduceResponse
from kafka_py.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafka_py.wire.schema import NEWEST, Int32, String, Versions, message, schema_of, since, struct


def test_every_field_has_a_default():
    request = MetadataRequest()
    assert request.topics == []
    assert request.allow_auto_topic_creation is True
    assert MetadataRequest(topics=None).topics is None
    topic = MetadataResponseTopic()
    assert (topic.error_code, topic.name, topic.topic_id, topic.partitions) == (0, "", UUID(int=0), [])
    assert topic.topic_authorized_operations == -0x80000000
    assert PartitionProduceData().records is None
    assert HeartbeatRequest().group_instance_id is None


def test_a_nullable_string_starts_empty_unless_declared_otherwise():
    from kafka_py.wire.messages.alter_configs import AlterConfigsResourceResponse

    assert AlterConfigsResourceResponse().error_message == ""
    assert PartitionProduceResponse().error_message is None


def test_lists_are_not_shared():
    first, second = FetchRequest(), FetchRequest()
    first.topics.append("x")
    assert second.topics == []


def test_equality_is_by_value_and_class():
    assert HeartbeatRequest(group_id="g") == HeartbeatRequest(group_id="g")
    assert HeartbeatRequest(group_id="g") != HeartbeatRequest(group_id="h")
    assert HeartbeatRequest() != MetadataRequest()
    assert HeartbeatRequest() != "heartbeat"
    with pytest.raises(TypeError):
        hash(HeartbeatRequest())


def test_repr_names_the_fields():
    text = "HeartbeatRequest(group_id='g', generation_id=3, member_id='', group_instance_id=None)"
    assert repr(HeartbeatRequest(group_id="g", generation_id=3)) == text


def test_repr_shows_no_secrets():
    assert "hmac=(redacted)" in repr(RenewDelegationTokenRequest(hmac=b"secret"))
    assert "hmac=b''" in repr(RenewDelegationTokenRequest())


@pytest.mark.parametrize("values", [{"group": "g"}, {"group_id": "g", "error_code": 3}])
def test_unknown_fields_are_refused(values):
    with pytest.raises(TypeError):
        HeartbeatRequest(**values)
    request = HeartbeatRequest()
    with pytest.raises(AttributeError):
        request.group = "g"


def test_fields_are_given_by_name_only():
    with pytest.raises(TypeError):
        HeartbeatRequest("g")


def test_the_default_struct_is_shared_and_cannot_be_changed():
    first, second = FetchablePartitionResponse(), FetchablePartitionResponse()
    assert first.diverging_epoch is second.diverging_epoch
    assert first.diverging_epoch == EpochEndOffset(epoch=-1, end_offset=-1)
    with pytest.raises(AttributeError, match="assign a new one"):
        first.diverging_epoch.epoch = 5
    first.diverging_epoch = EpochEndOffset(epoch=5, end_offset=10)
    assert second.diverging_epoch.epoch == -1


def test_what_a_declaration_says():
    @struct
    class Part:
        number: Int32

    @message(versions=(1, 4), flexible=3)
    class Whole:
        """Says something."""

        always: String
        later: String | None = since(2, null_since=3, ignorable=True)
        gone: list[Int32] = since(1, until=2)
        tagged: list[Part] | None = since(3, tag=7, default=None)

    schema = schema_of(Whole)
    assert (schema.name, schema.kind, schema.api, schema.versions) == ("Whole", "data", None, (1, 4))
    assert not schema.is_flexible(2)
    assert schema.is_flexible(3)
    always, later, gone, tagged = schema.fields
    assert (always.versions, always.null_versions, always.default) == (Versions(0), None, "")
    assert (later.versions, later.null_versions, later.ignorable) == (Versions(2), Versions(3), True)
    assert (gone.versions, gone.is_array, gone.element, gone.default) == (Versions(1, 2), True, Int32, [])
    assert (tagged.tag, tagged.tag_versions, tagged.element, tagged.default) == (7, Versions(3), Part, None)
    assert tagged.is_tagged(3)
    assert not tagged.is_tagged(2)
    assert later.is_nullable(3)
    assert not later.is_nullable(2)
    assert Whole.__doc__ == "Says something."
    assert Whole().tagged is None


def test_requests_know_their_api():
    schema = schema_of(FetchRequest)
    assert (schema.api, schema.kind, schema.versions, schema.flexible) == (ApiKey.FETCH, "request", (0, 12), 12)


@pytest.mark.parametrize(
    ("versions", "text"),
    [(Versions(0), "0+"), (Versions(3, 3), "3"), (Versions(1, 4), "1-4"), (Versions(2, NEWEST), "2+")],
)
def test_versions_are_written_as_in_kafkas_schemas(versions, text):
    assert str(versions) == text


def test_message_modules_are_imported_when_needed():
    """Start-up and idle memory do not pay for APIs that nobody calls."""
    code = (
        "import sys, kafka_py.wire.frames as f\n"
        "loaded = lambda: [m for m in sys.modules if m.startswith('kafka_py.wire.messages.')]\n"
        "assert not loaded(), loaded()\n"
        "f.APIS[f.ApiKey.HEARTBEAT].request\n"
        "assert loaded() == ['kafka_py.wire.messages.heartbeat'], loaded()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
