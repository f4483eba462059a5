"""The authorizer's own session with ZooKeeper, by its settings."""

import asyncio

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig, warnings_of
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.broker.wiring.zookeeper_sessions import authorizer_options, authorizer_session, broker_session
from kafka_py.testing.zookeeper import FakeZookeeper

BROKER = {
    "zookeeper.connect": "h:1/kafka",
    "zookeeper.session.timeout.ms": "7000",
    "zookeeper.set.acl": "true",
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
}


def parsed(**own: str) -> BrokerConfig:
    return BrokerConfig.parse({**BROKER, **{f"authorizer.zookeeper.{name}": value for name, value in own.items()}})


def test_what_the_authorizer_has_not_is_the_brokers() -> None:
    options = authorizer_options(parsed(url="other:2/acls", **{"max.in.flight.requests": "3"}))
    assert str(options.connect_string()) == "other:2/acls"
    assert options.zookeeper_session_timeout_ms == options.connection_timeout_ms() == 7000
    assert options.zookeeper_max_in_flight_requests == 3
    assert options.zookeeper_set_acl
    options = authorizer_options(parsed(**{"session.timeout.ms": "9", "connection.timeout.ms": "8"}))
    assert str(options.connect_string()) == "h:1/kafka"
    assert (options.zookeeper_session_timeout_ms, options.connection_timeout_ms()) == (9, 8)


@pytest.mark.parametrize(("name", "value"), [("url", "h:port"), ("session.timeout.ms", "soon")])
def test_a_wrong_value_is_refused_by_the_name_that_was_given(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"authorizer\.zookeeper\.{name}"):
        authorizer_options(parsed(**{name: value}))


def test_a_session_of_its_own_is_made_only_where_a_setting_asks_for_it() -> None:
    async def run() -> None:
        assert authorizer_session(parsed(), ServerEnvironment()) is None
        assert authorizer_session(parsed(url="other:2"), ServerEnvironment()) is not None

    asyncio.run(run())


def test_a_session_that_is_given_is_taken() -> None:
    async def run() -> None:
        session = FakeZookeeper().session()
        assert broker_session(parsed(), ServerEnvironment(session=session)) is session

    asyncio.run(run())


def test_the_settings_of_the_authorizer_are_known_while_there_is_one() -> None:
    config = parsed(url="other:2", **{"ssl.keystore.location": "/k.p12"})
    assert config.unknown_settings() == []
    assert not [line for line in warnings_of(config) if "authorizer" in line]
