"""Which answers ask their client to wait, and since when (KIP-219)."""

import pytest

from kafka_py.clients.throttling import WAITS_SINCE, asked_to_wait_ms
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResponse
from kafka_py.wire.schema import schema_of

CREDENTIALS = DescribeUserScramCredentialsResponse(throttle_time_ms=7, error_code=0, error_message=None, results=[])


@pytest.mark.parametrize("api", WAITS_SINCE)
def test_every_answer_that_may_ask_for_a_pause_has_the_field(api: ApiKey) -> None:
    response = APIS[api].response
    assert "throttle_time_ms" in {field.name for field in schema_of(response).fields}
    made = response(throttle_time_ms=7)
    assert asked_to_wait_ms(api, WAITS_SINCE[api], made) == 7
    assert asked_to_wait_ms(api, WAITS_SINCE[api] - 1, made) == 0


def test_other_answers_never_ask_for_a_pause() -> None:
    assert asked_to_wait_ms(ApiKey.LEADER_AND_ISR, 4, object()) == 0


@pytest.mark.parametrize("api", [ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS])
def test_a_client_waits_after_each_answer_about_credentials(api: ApiKey) -> None:
    assert asked_to_wait_ms(api, 0, CREDENTIALS) == 7


@pytest.mark.parametrize("api", [ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS])
def test_a_client_never_waits_after_answers_about_quotas(api: ApiKey) -> None:
    assert asked_to_wait_ms(api, 1, CREDENTIALS) == 0
