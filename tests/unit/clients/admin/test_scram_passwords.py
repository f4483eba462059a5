"""SCRAM passwords that a client does not send."""

import asyncio
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.credentials import ScramPassword, alter_user_scram_credentials


def test_an_empty_password_is_refused_before_anything_is_sent() -> None:
    """Anyone could log in as the user, and a variable of a script that is not set is such a password."""
    core: Any = None
    with pytest.raises(KafkaError, match="The password of user alice is empty") as refused:
        asyncio.run(alter_user_scram_credentials(core, {"alice": {"SCRAM-SHA-256": ScramPassword("")}}))
    assert refused.value.code is ErrorCode.UNACCEPTABLE_CREDENTIAL
