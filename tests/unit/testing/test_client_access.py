"""What each library is told of a user of a test cluster: with every protocol, mechanism and a wrong password."""

import ssl
import stat
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from kafka_py.base.properties import read_properties
from kafka_py.cli.local_cluster.security import PROTOCOLS, make
from kafka_py.testing.client_access import ClientAccess


def access(tmp_path: Path, protocol: str, mechanism: str = "PLAIN", password: str | None = None) -> ClientAccess:
    secured = make(tmp_path, protocol, {"alice": "alice-secret"}, ("SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"))
    return ClientAccess("localhost:1", tmp_path, secured, "alice", mechanism, password)


def test_without_security_there_are_only_the_servers(tmp_path: Path) -> None:
    plain = ClientAccess("localhost:1", tmp_path)
    assert plain.settings == plain.librdkafka == {"bootstrap.servers": "localhost:1"}
    assert plain.kafka_python == plain.aiokafka == {"bootstrap_servers": "localhost:1"}
    assert read_properties(plain.properties_file) == plain.settings


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_library_is_told_the_protocol(tmp_path: Path, protocol: str) -> None:
    one = access(tmp_path, protocol)
    assert one.settings["security.protocol"] == one.kafka_python["security_protocol"] == protocol
    assert one.librdkafka["security.protocol"] == protocol.lower() and one.aiokafka["security_protocol"] == protocol
    has_tls, has_logins = protocol.endswith("SSL"), protocol.startswith("SASL")
    assert ("ssl.ca.location" in one.librdkafka) == ("ssl_cafile" in one.kafka_python) == has_tls
    assert isinstance(one.aiokafka.get("ssl_context"), ssl.SSLContext) == has_tls
    for told in (one.librdkafka, one.kafka_python, one.aiokafka):
        assert ("alice-secret" in told.values()) == has_logins


def test_a_password_of_ones_own(tmp_path: Path) -> None:
    wrong = access(tmp_path, "SASL_PLAINTEXT", password="wrong")
    assert 'password="wrong"' in wrong.settings["sasl.jaas.config"]
    assert wrong.librdkafka["sasl.password"] == wrong.kafka_python["sasl_plain_password"] == "wrong"
    assert wrong.properties_file != access(tmp_path, "SASL_PLAINTEXT").properties_file
    assert stat.S_IMODE(wrong.properties_file.stat().st_mode) == 0o600
    assert "wrong" not in repr(wrong) and "alice-secret" not in repr(wrong)


def test_tokens(tmp_path: Path) -> None:
    for name, library in (("kafka_python", "kafka"), ("aiokafka", "aiokafka")):
        pytest.importorskip(library)
        told = getattr(access(tmp_path, "SASL_PLAINTEXT", "OAUTHBEARER"), name)
        assert hasattr(told["sasl_oauth_token_provider"], "token") and "sasl_plain_password" not in told
    for password, claim in ((None, "sub"), ("wrong", "other")):
        told = access(tmp_path, "SASL_PLAINTEXT", "OAUTHBEARER", password)
        assert told.librdkafka["sasl.oauthbearer.config"] == f"principal=alice principalClaimName={claim}"
        assert f'unsecuredLoginStringClaim_{claim}="alice"' in told.settings["sasl.jaas.config"]
