"""The login at ZooKeeper, of a login file's section."""

import logging

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.jaas import parse_login_file
from kafka_py.security.zookeeper.client_section import is_login_on, login_of

DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule"
CLIENT = f'Client {{ {DIGEST} required username="broker" password="hush"; }};'
FILE = {"java.security.auth.login.config": "/etc/jaas.conf"}


def login(text, **java):
    given = {**FILE, **{name.replace("_", "."): value for name, value in java.items()}}
    return login_of(parse_login_file(text), given, Chance(1))


def test_the_section_client_has_name_and_password():
    found = login(CLIENT)
    assert (found.username, found.password) == ("broker", "hush")
    assert "hush" not in repr(found)


def test_another_section_may_be_named(caplog):
    other = CLIENT.replace("Client", "Other")
    assert login(other) is None
    assert login(other, zookeeper_sasl_clientconfig="Other").username == "broker"
    with caplog.at_level(logging.WARNING):
        assert login(CLIENT, zookeeper_sasl_clientconfig="Other") is None
    assert "no section Other" in caplog.text


def test_without_a_section_there_is_no_login():
    assert login("") is None
    assert not is_login_on({}, {"zookeeper.sasl.client": "false"})


def test_a_login_that_is_there_and_switched_off_is_a_contradiction():
    for value in ("false", "no"):  # whatever Java does not take for true
        with pytest.raises(ConfigError, match=rf"zookeeper\.sasl\.client={value} .* section Client"):
            login(CLIENT, zookeeper_sasl_client=value)
    assert login(CLIENT, zookeeper_sasl_client="TRUE") is not None


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("com.sun.security.auth.module.Krb5LoginModule required;", "neither useKeyTab=true nor useTicketCache=true"),
        ("com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;", "no principal whose keys are meant"),
        ('com.example.Own required password="hush";', "login module com.example.Own cannot be used"),
        (f'{DIGEST} required username="broker";', "has no option password"),
        (f'{DIGEST} required password="hush";', "has no option username"),
        (f'{DIGEST} required username="" password="hush";', "has no option username"),
        ("", "no login module"),
    ],
)
def test_a_login_that_cannot_be_used_is_one_line_that_names_section_and_file(section, says):
    with pytest.raises(ConfigError, match=says) as refused:
        login(f"Client {{ {section} }};")
    assert refused.value.detail.startswith("section Client of the login file /etc/jaas.conf")
    assert "hush" not in refused.value.detail
