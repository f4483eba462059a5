"""A user's own function for tokens: it may block, hang or fail without harm to the event loop."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.security.sasl.client_settings import CallbackTokens
from kafka_py.security.sasl.oauth_tokens import BearerToken

SETTING = "sasl.login.callback.handler.class"
TOKEN = BearerToken("a.b.c", principal="alice", lifetime_ms=4_000_000_000_000)

given: Callable[[], Any]


def get_token() -> Any:
    return given()


def asked(function: Callable[[], Any]) -> CallbackTokens:
    global given
    given = function
    return CallbackTokens(SETTING, f"{__name__}:get_token")


def test_it_is_called_beside_the_event_loop() -> None:
    async def run() -> None:
        threads: list[threading.Thread] = []
        assert await asked(lambda: threads.append(threading.current_thread()) or TOKEN)() is TOKEN
        assert threads != [threading.current_thread()]

    asyncio.run(run())


def test_it_may_be_a_coroutine_function() -> None:
    async def get() -> BearerToken:
        await asyncio.sleep(0)
        return TOKEN

    assert asyncio.run(asked(get)()) is TOKEN


def test_one_that_hangs_takes_one_thread_however_often_it_is_asked() -> None:
    async def run() -> None:
        ends, calls = threading.Event(), []

        def hang() -> BearerToken:
            calls.append(1)
            ends.wait(10)
            return TOKEN

        tokens = asked(hang)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(tokens(), 0.02)
        ends.set()
        assert await tokens() is TOKEN
        assert len(calls) == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    "wrong", [lambda: None, lambda: "a.b.c", lambda: dict[str, str]()["token"]], ids=["none", "text", "error"]
)
def test_a_function_that_fails_ends_the_login_and_is_named(wrong: Callable[[], Any]) -> None:
    with pytest.raises(KafkaError) as failed:
        asyncio.run(asked(wrong)())
    assert failed.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert f"{__name__}:get_token ({SETTING})" in failed.value.message
    assert "a.b.c" not in failed.value.message  # it may be the secret


@pytest.mark.parametrize("error", [ConnectionError("away"), TimeoutError(110, "away"), OSError(111, "away")])
def test_a_network_error_is_left_for_another_try_and_is_not_said_to_be_one_of_the_broker(error: OSError) -> None:
    """The connection that logs in would take an errno for its own, and a time-out for the end of its time."""

    def lose() -> BearerToken:
        raise error

    with pytest.raises(ConnectionLost, match=rf"{__name__}:get_token \({SETTING}\) gave no token: .*away"):
        asyncio.run(asked(lose)())
