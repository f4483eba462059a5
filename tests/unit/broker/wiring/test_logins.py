"""Which settings of a listener the logins of a broker follow, and how they are taken over."""

import asyncio
import sys
import types
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring import sasl
from kafka_py.broker.wiring.logins import BrokerLogins
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.net.endpoints import SecurityProtocol, listening_of
from kafka_py.net.principal import Principal
from kafka_py.security.principal_builder import DEFAULT_BUILDER, SETTING, Authenticated
from kafka_py.security.sasl.client_settings import RefreshRules
from kafka_py.security.sasl.mechanisms import Identity
from kafka_py.security.sasl.server_settings import MODULES
from kafka_py.zk.config_znodes import DEFAULT_ENTITY

LISTENERS = {
    "listeners": "ONE://h:1,TWO://h:2,THREE://h:3", "inter.broker.listener.name": "ONE",
    "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT,THREE:PLAINTEXT",
}  # fmt: skip
OAUTH = {
    "listeners": "SASL_PLAINTEXT://h:1",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
    "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{MODULES['OAUTHBEARER']} required "
    'unsecuredLoginStringClaim_sub="broker";',
}


@pytest.fixture(autouse=True)
def own_class(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own:
        def build(self, authenticated: Authenticated) -> str:
            return f"User:{authenticated.certificate!r}" if authenticated.certificate else "User:own"

    class Unready(Own):
        def configure(self, properties: Mapping[str, object]) -> None:
            raise ValueError("a setting of its own is missing")

    module = types.ModuleType("own_logins")
    module.Own, module.Unready = Own, Unready  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_logins", module)


def config(settings: Mapping[str, str]) -> BrokerConfig:
    return BrokerConfig.parse({"zookeeper.connect": "z:1", **settings})


def logins(settings: Mapping[str, str]) -> BrokerLogins:
    answers: Any = None
    made = BrokerLogins(ServerEnvironment(), answers)
    made.reconfigure(config(settings))
    return made


def with_own_class(made: BrokerLogins, settings: Mapping[str, str]) -> set[str]:
    """The listeners whose clients the class names; others of these have no security at all."""
    listeners = listening_of(config(settings)).listeners
    return {each.listener_name for each in listeners if made.security_of(each) is not None}


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_protected_listener_whose_settings_were_not_taken_over_is_not_served(protocol: str) -> None:
    made, later = logins(LISTENERS), listening_of(config({**OAUTH, "listeners": f"{protocol}://h:1",
                                                          "security.inter.broker.protocol": protocol}))  # fmt: skip
    with pytest.raises(ConfigError, match=f"listener {protocol} is of {protocol}"):
        made.security_of(later.listeners[0])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, set()),
        ({SETTING: "own_logins.Own"}, {"ONE", "TWO", "THREE"}),
        ({SETTING: DEFAULT_BUILDER}, set()),
        ({SETTING: "com.example.Own", "kafka_py.unenforced.settings": SETTING}, set()),
        ({f"listener.name.two.{SETTING}": "own_logins:Own"}, {"TWO"}),
        ({SETTING: "own_logins.Own", f"listener.name.two.{SETTING}": DEFAULT_BUILDER}, {"ONE", "THREE"}),
    ],
)
def test_the_class_of_a_listener_counts_before_that_of_the_broker(settings: dict[str, str], expected: set[str]) -> None:
    given = {**LISTENERS, **settings}
    assert with_own_class(logins(given), given) == expected


def test_the_class_is_told_the_certificate_of_a_client_that_has_logged_in_as_well() -> None:
    made = logins({**OAUTH, SETTING: "own_logins.Own"})
    assert made.sasl is not None
    connection = SimpleNamespace(security_protocol=SecurityProtocol.SASL_SSL, peer_host="h")
    stage: Any = SimpleNamespace(connection=connection, certificate=lambda: b"der")
    named = made.sasl._rules("SASL_PLAINTEXT", stage).principal_of(Identity("alice"))
    assert named == Principal("User", "b'der'")


def test_a_class_that_cannot_be_made_changes_nothing() -> None:
    given = {**LISTENERS, SETTING: "own_logins.Own"}
    made = logins(given)
    four = {"listeners": "FOUR://h:4", "inter.broker.listener.name": "FOUR",
            "listener.security.protocol.map": "FOUR:PLAINTEXT"}  # fmt: skip
    changed = config({**given, **four, f"listener.name.four.{SETTING}": "own_logins.Unready"})
    with pytest.raises(ConfigError, match=rf"listener\.name\.four\.{SETTING}: .* a setting of its own is missing"):
        made.reconfigure(changed)
    assert with_own_class(made, given) == {"ONE", "TWO", "THREE"}


def test_changed_classes_are_taken_over_at_once() -> None:
    """Settings are taken over in a thread where there is TLS: who logs in meanwhile is named by some class."""
    given = {**LISTENERS, SETTING: "own_logins.Own"}
    made = logins(given)
    before = made._builders
    made.reconfigure(config({**given, "listeners": "ONE://h:1"}))
    assert before.keys() == {"ONE", "TWO", "THREE"}
    assert made._builders == {"ONE": before["ONE"]}  # the class is not made again


def test_a_credential_that_cannot_be_read_stops_the_start_and_is_ignored_later() -> None:
    made, stored = logins({}), {"SCRAM-SHA-256": "salt=c2E=,stored_key=c2s=,server_key=c2U=,iterations=4096"}
    nothing: Any = None

    def load(settings: dict[str, str]) -> bool:
        """Whether alice is known then."""
        asyncio.run(made.load(nothing, {"alice": settings, DEFAULT_ENTITY: {"SCRAM-SHA-256": "no user"}}))
        return made.users.find("SCRAM-SHA-256", "alice", False) is not None

    with pytest.raises(ConfigError, match="user alice"):
        load({"SCRAM-SHA-256": "nonsense"})
    assert load(stored)
    assert load({"SCRAM-SHA-256": "nonsense"})
    assert not load({})


@pytest.mark.parametrize("prefix", ["", "listener.name.sasl_plaintext."])
def test_the_times_at_which_tokens_are_replaced_may_be_those_of_a_listener(
    prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(sasl, "client_login", lambda *given, **more: seen.extend(given))
    start = f"{prefix}sasl.login.refresh."
    logins({**OAUTH, f"{start}buffer.seconds": "10", f"{start}min.period.seconds": "5"})
    assert seen[-1] == RefreshRules(least_period_s=5, buffer_s=10)


def test_a_wrong_time_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"sasl\.login\.refresh\.buffer\.seconds"):
        logins({**OAUTH, "listener.name.sasl_plaintext.sasl.login.refresh.buffer.seconds": "soon"})


def test_credentials_of_users_that_are_gone_are_deleted_where_changes_were_missed() -> None:
    made, stored = logins({}), {"SCRAM-SHA-256": "salt=c2E=,stored_key=c2s=,server_key=c2U=,iterations=4096"}
    nothing: Any = None
    asyncio.run(made.load(nothing, {"alice": stored, "bob": stored}))
    asyncio.run(made.load(nothing, {"bob": stored}))
    assert made.users.names() == {"bob"}


def test_many_users_are_taken_over_in_turns() -> None:
    """Where a broker has missed changes it serves clients meanwhile; 10,000 users take it a tenth of a second."""
    made, stored = logins({}), {"SCRAM-SHA-256": "salt=c2E=,stored_key=c2s=,server_key=c2U=,iterations=4096"}
    nothing: Any = None
    largest = turns = 0

    async def run() -> None:
        nonlocal largest, turns
        loading = asyncio.create_task(made.load(nothing, {f"user{number}": stored for number in range(1000)}))
        before = 0
        while not loading.done():
            await asyncio.sleep(0)
            present = len(made.users.names())
            largest, before, turns = max(largest, present - before), present, turns + 1

    asyncio.run(run())
    assert len(made.users.names()) == 1000
    assert turns > 3 and largest <= 300


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 524_288),
        ({"sasl.server.max.receive.size": "1000"}, 1000),
        ({"sasl.server.max.receive.size": "1000", "listener.name.sasl_plaintext.sasl.server.max.receive.size": "9"}, 9),
    ],
)
def test_the_size_of_requests_in_a_login_may_be_that_of_a_listener(settings: dict[str, str], expected: int) -> None:
    made = logins({**OAUTH, **settings})
    assert made.sasl is not None
    begin: Any = made.sasl.begin("SASL_PLAINTEXT")
    assert begin.__self__.max_bytes == expected


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("sasl.server.max.receive.size", "many"),
        ("sasl.server.max.receive.size", str(1 << 31)),
        ("connections.max.reauth.ms", "soon"),
        ("connections.max.reauth.ms", str(1 << 63)),
        ("oauthbearer.connections.max.reauth.ms", str(1 << 63)),
    ],
)
def test_numbers_of_a_listener_have_the_type_of_their_setting(setting: str, value: str) -> None:
    """A lifetime that no response can carry would fail every login."""
    name = f"listener.name.sasl_plaintext.{setting}"
    with pytest.raises(ConfigError, match=f"Invalid value {value} for configuration {name}"):
        logins({**OAUTH, name: value})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 0),
        ({"connections.max.reauth.ms": "5"}, 5),
        ({"connections.max.reauth.ms": "5", "oauthbearer.connections.max.reauth.ms": "0"}, 5),
        ({"connections.max.reauth.ms": "5", "listener.name.sasl_plaintext.connections.max.reauth.ms": "6"}, 6),
        (
            {"listener.name.sasl_plaintext.connections.max.reauth.ms": "6",
             "listener.name.sasl_plaintext.oauthbearer.connections.max.reauth.ms": "7"}, 7,
        ),
        ({"listener.name.other.connections.max.reauth.ms": "6"}, 0),
    ],
)  # fmt: skip
def test_the_setting_of_mechanism_and_listener_counts_then_of_the_listener_then_of_all(
    settings: dict[str, str], expected: int
) -> None:
    """With the prefix of a mechanism alone a setting is none, as in Apache Kafka."""
    made = logins({**OAUTH, **settings})
    assert made.sasl is not None
    assert made.sasl._present.rules["SASL_PLAINTEXT"].max_session_ms == {"OAUTHBEARER": expected}


def test_scram_has_no_callback() -> None:
    """Whoever names one must not find that it is not asked."""
    name = "listener.name.sasl_plaintext.scram-sha-256"
    entry = {f"{name}.sasl.jaas.config": f"{MODULES['SCRAM-SHA-256']} required;"}
    given = {**OAUTH, **entry, "sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-256"}
    logins(given)
    with pytest.raises(ConfigError, match="SCRAM-SHA-256 takes its credentials from ZooKeeper"):
        logins({**given, f"{name}.sasl.server.callback.handler.class": "os.path:join"})
