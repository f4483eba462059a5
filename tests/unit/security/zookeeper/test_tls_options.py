"""The settings of TLS to ZooKeeper: which value is in effect."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.security.zookeeper.tls_options import (
    JAVA_PROPERTIES,
    NETTY_SOCKET,
    check_usable,
    checks_names,
    shows_certificate,
    tls_options,
    with_authorizer_overlay,
)
from kafka_py.zk.configs import ZkTlsOptions

ALGORITHM = "zookeeper.ssl.endpoint.identification.algorithm"
IDENTITY = {
    "zookeeper.ssl.client.enable": "true",
    "zookeeper.clientCnxnSocket": NETTY_SOCKET,
    "zookeeper.ssl.keystore.location": "/k.p12",
}


def test_every_setting_has_its_property():
    assert set(JAVA_PROPERTIES) == set(ZkTlsOptions.ROWS)


def test_what_is_given_goes_before_the_property_and_that_before_the_default():
    java = {
        "zookeeper.client.secure": "true",
        "zookeeper.ssl.keyStore.location": "/java.jks",
        "zookeeper.ssl.trustStore.password": "of-java",
        "zookeeper.ssl.enabledProtocols": "TLSv1.2 , TLSv1.3",
        "zookeeper.ssl.quorum.keyStore.location": "/not-a-clients",
    }
    options = tls_options({"zookeeper.ssl.keystore.location": "/given.jks", "broker.id": "0"}, java)
    assert options.zookeeper_ssl_client_enable
    assert options.zookeeper_ssl_keystore_location == "/given.jks"
    assert options.zookeeper_ssl_truststore_password == "of-java"
    assert options.zookeeper_ssl_enabled_protocols == ["TLSv1.2", "TLSv1.3"]
    assert options.zookeeper_ssl_protocol == "TLSv1.2"
    assert not tls_options({"zookeeper.ssl.client.enable": "false"}, java).zookeeper_ssl_client_enable


@pytest.mark.parametrize(
    ("given", "java", "checked"),
    [
        ({}, {}, True),
        ({ALGORITHM: "https"}, {}, True),
        ({ALGORITHM: ""}, {}, False),
        ({ALGORITHM: "none"}, {}, False),
        ({}, {"zookeeper.ssl.hostnameVerification": "true"}, True),
        ({}, {"zookeeper.ssl.hostnameVerification": "false"}, False),
        ({ALGORITHM: "HTTPS"}, {"zookeeper.ssl.hostnameVerification": "false"}, True),
    ],
)
def test_names_are_checked_unless_a_setting_or_property_says_otherwise(given, java, checked):
    assert checks_names(tls_options(given, java)) == checked


def test_a_flag_of_java_is_on_with_true_only():
    assert not tls_options({}, {"zookeeper.client.secure": "TRUE"}).zookeeper_ssl_client_enable


@pytest.mark.parametrize("missing", [None, *IDENTITY])
def test_a_certificate_counts_as_an_identity_with_three_settings(missing):
    given = {name: value for name, value in IDENTITY.items() if name != missing}
    assert shows_certificate(tls_options(given, {})) == (missing is None)


def test_the_authorizers_own_settings_go_over_the_brokers():
    given = {**IDENTITY, "authorizer.zookeeper.ssl.keystore.location": "/own.p12", "authorizer.class.name": "x"}
    options = tls_options(with_authorizer_overlay(given), {})
    assert options.zookeeper_ssl_keystore_location == "/own.p12"
    assert options.zookeeper_ssl_client_enable
    off = {**given, "authorizer.zookeeper.ssl.client.enable": "false"}
    assert not tls_options(with_authorizer_overlay(off), {}).zookeeper_ssl_client_enable


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("zookeeper.clientCnxnSocket", "org.apache.zookeeper.ClientCnxnSocketNIO"),
        ("zookeeper.ssl.crl.enable", "true"),
        ("zookeeper.ssl.ocsp.enable", "true"),
    ],
)
def test_what_would_protect_less_than_asked_for_is_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        check_usable(tls_options({**IDENTITY, name: value}, {}))


def test_the_class_of_the_socket_may_be_left_out_or_written_short():
    for given in ({}, {"zookeeper.clientCnxnSocket": "ClientCnxnSocketNetty"}, IDENTITY):
        check_usable(tls_options(given, {}))
