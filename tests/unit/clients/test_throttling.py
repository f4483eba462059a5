"""Which answers ask their client to wait, and since when (KIP-219)."""

import pytest

from kafka_py.clients.throttling import WAITS_SINCE, asked_to_wait_ms
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.schema import schema_of


@pytest.mark.parametrize("api", WAITS_SINCE)
def test_every_answer_that_may_ask_for_a_pause_has_the_field(api: ApiKey) -> None:
    response = APIS[api].response
    assert "throttle_time_ms" in {field.name for field in schema_of(response).fields}
    made = response(throttle_time_ms=7)
    assert asked_to_wait_ms(api, WAITS_SINCE[api], made) == 7
    assert asked_to_wait_ms(api, WAITS_SINCE[api] - 1, made) == 0


def test_other_answers_never_ask_for_a_pause() -> None:
    assert asked_to_wait_ms(ApiKey.LEADER_AND_ISR, 4, object()) == 0
