import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.scram import ScramUser
from kafka_py.security.sasl.scram_credentials import ScramCredential
from kafka_py.security.sasl.scram_users import ScramUsers

ONE = ScramCredential(b"salt", b"stored", b"server", 4096)
OTHER = ONE._replace(iterations=8192)
MECHANISM = "SCRAM-SHA-256"


def users() -> ScramUsers:
    made = ScramUsers()
    made.load("alice", {MECHANISM: ONE.text(), "producer_byte_rate": "1"})
    return made


def test_a_user_is_known_by_mechanism_and_name() -> None:
    known = users()
    assert known.find(MECHANISM, "alice", False) == ScramUser(ONE, "alice")
    assert known.find("SCRAM-SHA-512", "alice", False) is None
    assert known.find(MECHANISM, "bob", False) is None
    assert known.find(MECHANISM, "alice", True) is None


def test_a_change_replaces_or_removes_the_credential() -> None:
    known = users()
    known.change("alice", {MECHANISM: OTHER.text()})
    assert known.find(MECHANISM, "alice", False) == ScramUser(OTHER, "alice")
    known.change("alice", {})
    assert known.find(MECHANISM, "alice", False) is None


def test_a_malformed_credential_stops_the_start_and_is_ignored_later(caplog: pytest.LogCaptureFixture) -> None:
    known = users()
    known.change("alice", {MECHANISM: "salt=c2VjcmV0"})
    assert known.find(MECHANISM, "alice", False) == ScramUser(ONE, "alice")
    assert "c2VjcmV0" not in caplog.text
    with pytest.raises(ConfigError, match="alice") as failed:
        known.load("alice", {MECHANISM: "salt=c2VjcmV0"})
    assert "c2VjcmV0" not in str(failed.value)


def test_a_token_is_found_by_its_id() -> None:
    token = ScramUser(ONE, "owner", 5.0)
    known = ScramUsers(lambda mechanism, token_id: {(MECHANISM, "id"): token}.get((mechanism, token_id)))
    assert known.find(MECHANISM, "id", True) == token
    assert known.find(MECHANISM, "owner", True) is None
