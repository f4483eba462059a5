"""Settings that ask for protection are enforced or refused; the operator may do without, by name."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig, warnings_of

NEEDED = {"zookeeper.connect": "z:1"}
OWN_BUILDER = {"principal.builder.class": "com.example.Own"}
OVERRIDE = "kafka_py.unenforced.settings"


@pytest.mark.parametrize(
    "given",
    [
        OWN_BUILDER,
        {"principal.builder.class": "com.example.DefaultKafkaPrincipalBuilder"},
        {"listener.name.plaintext.principal.builder.class": "com.example.Own"},
        {**OWN_BUILDER, OVERRIDE: "authorizer.class.name"},
    ],
)
def test_a_broker_that_would_run_open_does_not_start(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.parse({**NEEDED, **given})
    name = next(iter(given))
    assert refused.value.detail.startswith(f"{name}={given[name]} is not supported: ")
    assert OVERRIDE in refused.value.detail
    assert "\n" not in refused.value.detail


@pytest.mark.parametrize(
    "given",
    [
        {"authorizer.class.name": ""},
        {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"},
        {"super.users": "User:admin", "allow.everyone.if.no.acl.found": "false"},
        {"principal.builder.class": "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"},
        {"my.plugin.principal.builder.class": "com.example.Own"},
        {"ssl.client.auth": "required", "sasl.enabled.mechanisms": "PLAIN"},
    ],
)
def test_what_asks_for_nothing_without_more_starts(given: dict[str, str]) -> None:
    assert not [line for line in warnings_of(BrokerConfig.parse({**NEEDED, **given})) if "not enforced" in line]


def test_an_operator_may_do_without_and_is_told_what_is_open() -> None:
    config = BrokerConfig.parse({**NEEDED, **OWN_BUILDER, OVERRIDE: "principal.builder.class"})
    (line,) = warnings_of(config)
    assert line == (
        "principal.builder.class=com.example.Own is not enforced: "
        "there is no such Python class with a method build, and this broker cannot run a Java class"
    )
