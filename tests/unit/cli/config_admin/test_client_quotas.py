"""kafka-configs.sh --bootstrap-server for quotas: what is refused before a broker is asked to change anything."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.common.command import Refused
from kafka_py.cli.config_admin.client_quotas import alter
from kafka_py.cli.config_admin.configs_quotas import ConfigEntity
from kafka_py.cli.config_admin.entities import Changes, Entity

PASSWORD = {"SCRAM-SHA-256": "[password=secret]"}
NO_BROKER: Any = None


@pytest.mark.parametrize(
    ("name", "added", "says"),
    [
        ("alice", {**PASSWORD, "producer_byte_rate": "1"}, "Cannot alter both quota and SCRAM credential configs"),
        ("", PASSWORD, "--user-defaults is not allowed with User SCRAM Credentials"),
        ("alice", {**PASSWORD, "retention.ms": "1"}, "Unexpected config names: retention.ms"),
        ("alice", {"producer_byte_rate": "1_000"}, "Cannot parse quota configuration value for producer_byte_rate"),
    ],
)
def test_what_a_user_cannot_be_given(name: str, added: dict[str, str], says: str) -> None:
    user = Entity("users", name)
    with pytest.raises(Refused, match=says) as refused:
        alter(NO_BROKER, ConfigEntity(user), Changes(added, []), user)
    assert "secret" not in str(refused.value)


def test_a_quota_that_is_not_set_cannot_be_deleted() -> None:
    user = Entity("users", "alice")
    present = {(("user", "alice"),): {"producer_byte_rate": 1.0}}
    admin: Any = SimpleNamespace(describe_client_quotas=lambda *_args, **_kwargs: present)
    with pytest.raises(KafkaError, match="consumer_byte_rate") as refused:
        alter(admin, ConfigEntity(user), Changes({}, ["producer_byte_rate", "consumer_byte_rate"]), user)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
