"""kafka-configs.sh --bootstrap-server for users: what cannot be asked for is refused before a broker is asked."""

from typing import Any

import pytest

from kafka_py.cli.common.command import Refused
from kafka_py.cli.config_admin import client_quotas
from kafka_py.cli.config_admin.configs_quotas import USERS, ConfigEntity
from kafka_py.cli.config_admin.entities import Changes, Entity

SCRAM = {"SCRAM-SHA-256": "password=hunter2"}
ALICE, EVERYONE = Entity(USERS, "alice"), Entity(USERS, "")


@pytest.mark.parametrize(
    ("user", "added", "says"),
    [
        (ALICE, {**SCRAM, "producer_byte_rate": "1"}, "Cannot alter both quota and SCRAM credential configs"),
        (EVERYONE, SCRAM, "--user-defaults is not allowed with User SCRAM Credentials"),
        (ALICE, {**SCRAM, "retention.ms": "1"}, "Unexpected config names: retention.ms"),
    ],
)
def test_credentials_are_for_one_user_and_not_together_with_quotas(
    user: Entity, added: dict[str, str], says: str
) -> None:
    nobody: Any = None  # no request is sent
    with pytest.raises(Refused, match=says) as refused:
        client_quotas.alter(nobody, ConfigEntity(user), Changes(added, []), user)
    assert "hunter2" not in str(refused.value)
