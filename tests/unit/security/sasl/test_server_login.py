"""The login of one connection, callbacks that take time, and the session that follows: its end and its renewal."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.net.secured.stages import FailureLog, LoginStage
from kafka_py.security.sasl.mechanisms import AuthenticationRefused, Challenge, Identity, ServerStep, Success, Work
from kafka_py.security.sasl.server_exchange import LoginRules
from kafka_py.security.sasl.server_login import LEAST_RENEWAL_MS, LoginHost
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.frames import decode_response, encode_request
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest

ALICE = Principal("User", "alice")
MOST_BYTES, DELAY_MS, MAX_SESSION_MS = 1000, 100, 5000


class Reader:
    """The connection of a client, as far as a login looks at it: what it is told is noted."""

    def __init__(self) -> None:
        self.principal, self.closed, self.mutes = ANONYMOUS, "", 0
        self.unanswered = self.received_requests = self.sent_responses = 0
        self.limits: list[int | None] = []
        self.answers: dict[int, Any] = {}
        self.on_request: Any = None
        self.peer_host, self.peer_port = "h", 1
        self.latencies: list[float] = []
        counters = ("successful_authentications", "failed_authentications", "unrenewable_authentications",
                    "successful_reauthentications", "failed_reauthentications", "expired_connections")  # fmt: skip
        self.metrics = SimpleNamespace(
            **dict.fromkeys(counters, 0), reauthentication_latency=SimpleNamespace(update=self.latencies.append)
        )

    def respond(self, slot: int, parts: Any) -> None:
        assert not self.closed
        self.answers[slot] = parts
        self.sent_responses = slot + 1

    def close(self, reason: str) -> None:
        self.closed = reason

    def limit_frames(self, most: int | None) -> None:
        self.limits.append(most)

    def mute(self) -> None:
        self.mutes += 1

    def unmute(self) -> None:
        self.mutes -= 1


class OneStep:
    """A mechanism of one token, whose text says what comes of it: a name, or what its callback does first."""

    name = "PLAIN"

    def __init__(self, world: "World") -> None:
        self._world = world

    def step(self, token: bytes) -> ServerStep:
        text = token.decode()
        if text == "wrong":
            raise AuthenticationRefused("a wrong word")
        if text == "more":
            return Challenge(b"more")
        call, _, name = text.rpartition(" ")
        if not call:
            return Success(Identity(name, self._world.expires_ms), b"welcome")
        calls = {"blocking": self._world.block, "waiting": self._world.wait, "failing": self._world.block_and_fail}
        then = name.replace("+", " ", 1)
        return Work(calls[call], lambda _: self.step(then.encode()), lambda error: AuthenticationRefused("no answer"))


class World:
    """A login whose time stands still, and what it told its connection."""

    def __init__(self, max_session_ms: int, expires_in_ms: int | None) -> None:
        self.clock = ManualClock()
        self.expires_ms = None if expires_in_ms is None else self.clock.wall_ms() + expires_in_ms
        self.gate = asyncio.Event()
        reader: Any = Reader()
        self.connection = reader
        self.served: list[int] = []
        self.executor = ThreadPoolExecutor(1)
        self.slots = 0
        make = dict.fromkeys(("PLAIN", "OTHER"), lambda: OneStep(self))
        rules = LoginRules(("PLAIN", "OTHER"), make, lambda who: Principal("User", who.name), {"PLAIN": max_session_ms})
        answers: Any = SimpleNamespace(refusal=lambda *given: [b"refused %d" % given[3]])
        given = lambda: DELAY_MS, lambda: self.executor, MOST_BYTES
        host = LoginHost(lambda stage: rules, lambda connection: answers, self.clock, *given)
        loop: Any = SimpleNamespace(
            call_later=lambda delay_s, call, *given: self.clock.call_later(delay_s, partial(call, *given))
        )
        stage = LoginStage(reader, None, self.serve, loop, FailureLog(self.clock), lambda connection: None)
        stage.start(host.begin)

    def block(self) -> None:
        assert not self.connection.closed

    def block_and_fail(self) -> None:
        raise OSError("the service is away")

    async def wait(self) -> None:
        await self.gate.wait()

    def serve(self, connection: Any, slot: int, frame: bytearray) -> None:
        self.served.append(slot)

    def send(self, request: Any, version: int) -> int:
        slot, self.slots = self.slots, self.slots + 1
        self.connection.received_requests = self.slots
        self.connection.on_request(self.connection, slot, bytearray(encode_request(request, version, 7, "c")[4:]))
        return slot

    def say(self, token: str, *, mechanism: str = "PLAIN", version: int = 2) -> int:
        """A handshake and a token. Returns the slot of the latter."""
        self.send(SaslHandshakeRequest(mechanism=mechanism), 1)
        return self.send(SaslAuthenticateRequest(auth_bytes=token.encode()), version)

    def ask(self) -> int:
        return self.send(MetadataRequest(topics=[]), 1)

    def answer(self, slot: int, version: int = 2) -> Any:
        [data] = self.connection.answers[slot]
        return decode_response(SaslAuthenticateResponse, version, memoryview(data)[4:])[1]

    async def worked(self) -> None:
        """The present callback has ended, and what follows from it is done."""
        login = self.connection.on_request.__self__
        assert login._task is not None
        await login._task


Test = Callable[[World], Awaitable[None]]


def on_world(max_session_ms: int = 0, expires_in_ms: int | None = None) -> Callable[[Test], Callable[[], None]]:
    def decorate(test: Test) -> Callable[[], None]:
        async def run() -> None:
            world = World(max_session_ms, expires_in_ms)
            try:
                await test(world)
            finally:
                world.executor.shutdown()

        return lambda: asyncio.run(run())

    return decorate


def counts(world: World) -> dict[str, int]:
    """Those that are not zero."""
    return {name: count for name, count in vars(world.connection.metrics).items() if isinstance(count, int) and count}


# ---- logins


@on_world()
async def test_after_a_login_the_requests_go_to_the_broker_itself(world: World) -> None:
    answered = world.answer(world.say("alice"))
    assert (answered.error_code, answered.auth_bytes, answered.session_lifetime_ms) == (0, b"welcome", 0)
    assert world.connection.principal == ALICE
    assert world.connection.on_request == world.serve
    assert world.served == [world.ask()]
    assert world.connection.limits[-2:] == [MOST_BYTES, None]
    assert counts(world) == {"successful_authentications": 1}
    world.clock.advance(60_000)  # no deadline is left
    assert not world.connection.closed


@on_world()
async def test_a_client_that_cannot_renew_a_session_is_counted(world: World) -> None:
    world.say("alice", version=0)
    assert counts(world) == {"successful_authentications": 1, "unrenewable_authentications": 1}


@on_world()
async def test_a_failed_login_is_answered_after_the_delay(world: World) -> None:
    slot = world.say("wrong")
    assert (world.connection.mutes, slot in world.connection.answers) == (1, False)
    world.clock.advance(DELAY_MS - 1)
    assert not world.connection.closed
    world.clock.advance(1)
    assert world.answer(slot).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert world.connection.closed == "a wrong word"
    assert counts(world) == {"failed_authentications": 1}


@on_world()
async def test_a_broken_exchange_is_closed_at_once_and_not_counted(world: World) -> None:
    world.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    world.connection.on_request(world.connection, 1, bytearray(b"nonsense"))
    assert world.connection.closed
    assert counts(world) == {}


@pytest.mark.parametrize(("logins", "counter"), [(0, "failed_authentications"), (1, "failed_reauthentications")])
def test_a_login_or_renewal_that_is_not_complete_in_time_is_closed(logins: int, counter: str) -> None:
    @on_world(MAX_SESSION_MS)
    async def run(world: World) -> None:
        for _ in range(logins):
            world.say("alice")
        world.say("more")
        world.clock.advance(29_999)
        assert not world.connection.closed
        world.clock.advance(1)
        assert world.connection.closed == "the login was not complete after 30 s"
        assert counts(world)[counter] == 1

    run()


# ---- callbacks


@pytest.mark.parametrize("kind", ["blocking", "waiting"])
def test_while_a_callback_runs_nothing_more_is_read(kind: str) -> None:
    @on_world()
    async def run(world: World) -> None:
        slot = world.say(f"{kind} alice")
        assert (world.connection.mutes, world.connection.answers.keys()) == (1, {slot - 1})
        world.gate.set()
        await world.worked()
        assert world.connection.mutes == 0
        assert world.answer(slot).auth_bytes == b"welcome"
        assert world.connection.principal == ALICE

    run()


@pytest.mark.parametrize(("said", "text"), [("failing alice", "no answer"), ("blocking wrong", "a wrong word")])
def test_a_login_that_is_refused_after_a_callback_is_answered_after_the_delay(said: str, text: str) -> None:
    @on_world()
    async def run(world: World) -> None:
        slot = world.say(said)
        await world.worked()
        assert (world.connection.mutes, slot in world.connection.answers) == (1, False)  # by the delay
        world.clock.advance(DELAY_MS)
        assert world.answer(slot).error_message == text
        assert counts(world) == {"failed_authentications": 1}

    run()


@on_world()
async def test_one_callback_may_follow_another(world: World) -> None:
    """As when a token was removed, and has come back, while its credential was derived."""
    slot = world.say("waiting blocking+alice")
    world.gate.set()
    await world.worked()
    assert (world.connection.mutes, slot in world.connection.answers) == (1, False)
    await world.worked()
    assert (world.connection.mutes, slot in world.connection.answers) == (0, True)


@on_world()
async def test_a_connection_that_was_closed_meanwhile_is_not_logged_in(world: World) -> None:
    slot = world.say("waiting alice")
    world.connection.close("the peer has gone")
    world.gate.set()
    await world.worked()
    assert slot not in world.connection.answers
    assert (world.connection.principal, counts(world)) == (ANONYMOUS, {})


@on_world()
async def test_a_callback_that_is_still_running_at_the_deadline_logs_nobody_in(world: World) -> None:
    world.say("waiting alice")
    world.clock.advance(30_000)
    assert world.connection.closed == "the login was not complete after 30 s"
    world.gate.set()
    await world.worked()
    assert (world.connection.principal, counts(world)) == (ANONYMOUS, {"failed_authentications": 1})


@on_world()
async def test_an_unforeseen_error_closes_the_connection(world: World) -> None:
    world.say("waiting alice")
    world.connection.on_request.__self__._exchange.resume = None
    world.gate.set()
    await world.worked()
    assert world.connection.closed == "the login ended unforeseen"
    assert world.connection.principal == ANONYMOUS


# ---- sessions


@on_world(MAX_SESSION_MS)
async def test_a_session_ends_at_the_next_request_after_its_time(world: World) -> None:
    assert world.answer(world.say("alice")).session_lifetime_ms == MAX_SESSION_MS
    world.clock.advance(MAX_SESSION_MS)
    assert world.served == [world.ask()]
    world.clock.advance(1)
    assert not world.connection.closed  # an idle connection stays
    assert world.ask() not in world.served
    assert world.connection.closed == "its session is over, and was not renewed"
    assert counts(world) == {"successful_authentications": 1, "expired_connections": 1}


@pytest.mark.parametrize(("most_ms", "expires_in_ms", "lasts_ms"), [(5000, 700, 700), (5000, -1, 0), (0, 700, None)])
def test_a_session_ends_with_its_credential_if_sessions_end_at_all(
    most_ms: int, expires_in_ms: int, lasts_ms: int | None
) -> None:
    @on_world(most_ms, expires_in_ms)
    async def run(world: World) -> None:
        assert world.answer(world.say("alice")).session_lifetime_ms == (lasts_ms or 0)
        world.clock.advance(lasts_ms or 0)
        assert world.served == [world.ask()]
        world.clock.advance(1 if lasts_ms is not None else 60_000)
        world.ask()
        assert bool(world.connection.closed) is (lasts_ms is not None)

    run()


@pytest.mark.parametrize("after_ms", [LEAST_RENEWAL_MS, MAX_SESSION_MS, MAX_SESSION_MS + 1000])
def test_a_session_is_renewed_also_after_its_end(after_ms: int) -> None:
    @on_world(MAX_SESSION_MS)
    async def run(world: World) -> None:
        world.say("alice")
        world.clock.advance(after_ms)
        assert world.answer(world.say("alice")).session_lifetime_ms == MAX_SESSION_MS
        assert world.connection.limits[-2:] == [MOST_BYTES, None]
        world.clock.advance(MAX_SESSION_MS)
        assert world.served == [world.ask()]
        assert world.connection.latencies == [1]
        assert counts(world) == {"successful_authentications": 1, "successful_reauthentications": 1}

    run()


@on_world(MAX_SESSION_MS)
async def test_a_renewal_by_another_user_ends_the_connection(world: World) -> None:
    world.say("alice")
    world.clock.advance(LEAST_RENEWAL_MS)
    slot = world.say("bob")
    world.clock.advance(DELAY_MS)
    assert world.answer(slot).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert world.connection.closed and world.connection.principal == ALICE
    assert counts(world) == {"successful_authentications": 1, "failed_reauthentications": 1}


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_refused_renewal_is_told_after_the_responses_to_earlier_requests(is_answered: bool) -> None:
    @on_world(MAX_SESSION_MS)
    async def run(world: World) -> None:
        world.say("alice")
        world.clock.advance(LEAST_RENEWAL_MS)
        world.connection.unanswered = 2  # one that waits for records, and the renewal itself behind it
        slot = world.say("wrong")
        world.clock.advance(DELAY_MS)
        assert slot in world.connection.answers
        world.clock.advance(10_000)
        assert not world.connection.closed
        if is_answered:
            world.connection.unanswered = 0
            world.clock.advance(50)
        else:
            world.clock.advance(20_100)
        assert world.connection.closed == "a wrong word"
        assert world.connection.mutes == 1  # nothing more is read meanwhile
        assert counts(world)["failed_reauthentications"] == 1

    run()


@on_world(MAX_SESSION_MS)
async def test_a_renewal_takes_no_other_requests(world: World) -> None:
    world.say("alice")
    world.clock.advance(LEAST_RENEWAL_MS)
    world.say("more")
    slot = world.ask()
    assert (world.served, world.connection.answers[slot]) == ([], [b"refused %d" % ErrorCode.ILLEGAL_SASL_STATE])
    world.clock.advance(DELAY_MS)
    assert world.connection.closed


@on_world(MAX_SESSION_MS)
async def test_a_renewal_with_another_mechanism_is_counted_as_a_failure(world: World) -> None:
    world.say("alice")
    world.clock.advance(LEAST_RENEWAL_MS)
    slot = world.say("alice", mechanism="OTHER")
    world.clock.advance(DELAY_MS)
    assert world.connection.closed and slot not in world.connection.answers
    assert counts(world)["failed_reauthentications"] == 1


@on_world(900)
async def test_a_session_may_be_renewed_right_after_the_login_but_then_once_a_second(world: World) -> None:
    """The second is counted from the beginning of one renewal to that of the next, whatever they take."""
    world.say("alice")
    world.clock.advance(10)
    world.say("waiting alice")
    world.clock.advance(500)
    world.gate.set()
    await world.worked()
    assert (world.connection.latencies, counts(world)["successful_reauthentications"]) == ([500], 1)
    world.clock.advance(LEAST_RENEWAL_MS - 501)
    early = world.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert world.served == [early]  # the broker answers it as it answers one where there is no login
    world.clock.advance(1)
    assert world.answer(world.say("alice")).session_lifetime_ms == 900
    assert world.served == [early]


@on_world(MAX_SESSION_MS)
async def test_an_early_handshake_after_the_end_of_a_session_ends_it(world: World) -> None:
    world.say("alice")
    world.clock.advance(LEAST_RENEWAL_MS)
    world.expires_ms = world.clock.wall_ms() + 10
    world.say("alice")
    world.clock.advance(11)
    world.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert world.connection.closed and world.served == []


@on_world(MAX_SESSION_MS)
async def test_a_renewal_has_its_time_from_the_responses_to_the_requests_before_it(world: World) -> None:
    """A JoinGroup waits for the other members for minutes, and the responses of the renewal leave after its own."""
    world.say("alice")
    waiting = world.ask()
    handshake = world.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    world.connection.sent_responses = waiting
    world.clock.advance(120_000)
    assert not world.connection.closed
    world.clock.advance(29_000)
    world.connection.sent_responses = handshake
    world.clock.advance(30_000)
    assert not world.connection.closed
    world.clock.advance(31_000)
    assert world.connection.closed == "the login was not complete after 30 s"
    assert counts(world)["failed_reauthentications"] == 1


@on_world()
async def test_malformed_bytes_in_a_login_are_its_failure_and_later_ones_are_not(world: World) -> None:
    stage = world.connection.on_request.__self__._stage
    world.say("alice")
    assert not stage.fail_malformed("too large")
    assert not world.connection.closed and counts(world) == {"successful_authentications": 1}


@on_world(MAX_SESSION_MS)
async def test_requests_that_are_answered_within_the_time_of_a_renewal_count_as_well(world: World) -> None:
    world.say("alice")
    world.connection.sent_responses = world.ask()
    handshake = world.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    world.clock.advance(29_900)
    world.connection.sent_responses = handshake
    world.clock.advance(200)
    assert not world.connection.closed


@on_world(MAX_SESSION_MS)
async def test_a_renewal_that_waits_for_no_response_has_its_time_once(world: World) -> None:
    world.say("alice")
    world.connection.sent_responses = world.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    world.clock.advance(30_000)
    assert world.connection.closed == "the login was not complete after 30 s"


@on_world(MAX_SESSION_MS)
async def test_malformed_bytes_in_a_renewal_are_its_failure(world: World) -> None:
    stage = world.connection.on_request.__self__._stage
    world.say("alice")
    world.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert stage.fail_malformed("too large")
    assert counts(world)["failed_reauthentications"] == 1
    world.clock.advance(DELAY_MS)
    assert world.connection.closed == "too large"


@on_world()
async def test_a_callback_that_ends_after_malformed_bytes_logs_nobody_in(world: World) -> None:
    stage = world.connection.on_request.__self__._stage
    slot = world.say("waiting alice")
    assert stage.fail_malformed("too large")
    world.gate.set()
    await world.worked()
    assert (world.connection.principal, counts(world)) == (ANONYMOUS, {"failed_authentications": 1})
    assert slot not in world.connection.answers and world.connection.mutes
    world.clock.advance(DELAY_MS)
    assert world.connection.closed == "too large"


@on_world(MAX_SESSION_MS)
async def test_malformed_bytes_fail_a_login_once_and_after_the_delay(world: World) -> None:
    stage = world.connection.on_request.__self__._stage
    slot = world.say("wrong")
    assert stage.fail_malformed("too large")  # behind the wrong password
    assert counts(world) == {"failed_authentications": 1}
    world.clock.advance(DELAY_MS - 1)
    assert not world.connection.closed
    world.clock.advance(1)
    assert world.answer(slot).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert world.connection.closed


@on_world()
async def test_a_login_that_malformed_bytes_fail_is_closed_after_the_delay_too(world: World) -> None:
    stage = world.connection.on_request.__self__._stage
    assert stage.fail_malformed("too large")
    assert counts(world) == {"failed_authentications": 1} and world.connection.mutes == 1
    world.clock.advance(DELAY_MS - 1)
    assert not world.connection.closed
    world.clock.advance(1)
    assert world.connection.closed == "too large"
