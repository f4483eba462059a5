"""kafka-delegation-tokens.sh: its options, what it prints and what it refuses, over an admin client in memory."""

import json
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.common.command import UsageError
from kafka_py.cli.token_admin import delegation_tokens
from kafka_py.cli.token_admin.delegation_tokens import check, hmac_in, main, parser
from kafka_py.clients.admin import client
from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import DelegationToken

ALICE, BOB, SCHEDULER = (Principal("User", name) for name in ("alice", "bob", "a scheduler"))
TOKEN = DelegationToken(
    "A" * 22, ALICE, (BOB, SCHEDULER), 1_619_863_200_000, 1_619_949_600_000, 1_620_468_000_000, b"hm"
)
PLACE = ("--bootstrap-server", "h:1", "--command-config", "c")
HEAD = (
    "TOKENID         HMAC                           OWNER           RENEWERS                  ISSUEDATE       "
    "EXPIRYDATE      MAXDATE        "
)
ROW = (
    "AAAAAAAAAAAAAAAAAAAAAA aG0=                           User:alice      [User:bob, User:a scheduler] "
    "2021-05-01T10:00 2021-05-02T10:00 2021-05-08T10:00"
)


class Admin:
    """What was asked of it, and what it answers."""

    asked: list[tuple[Any, ...]] = []
    tokens: list[DelegationToken] = []
    error: KafkaError | None = None

    def __init__(self, configs: dict[str, str]) -> None:
        self.configs = configs

    def __enter__(self) -> "Admin":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def _note(self, *call: Any) -> None:
        self.asked.append(call)
        if self.error is not None:
            raise self.error

    def create_delegation_token(self, renewers: Collection[Principal], *, max_lifetime_ms: int) -> DelegationToken:
        self._note("create", renewers, max_lifetime_ms)
        return TOKEN

    def renew_delegation_token(self, hmac: bytes, *, period_ms: int) -> int:
        self._note("renew", hmac, period_ms)
        return TOKEN.expires_ms

    def expire_delegation_token(self, hmac: bytes, *, period_ms: int) -> int:
        self._note("expire", hmac, period_ms)
        return TOKEN.expires_ms

    def describe_delegation_token(self, owners: Collection[Principal] | None) -> list[DelegationToken]:
        self._note("describe", owners)
        return self.tokens


Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Runs it; exit code and output."""
    monkeypatch.setattr(client, "AdminClient", Admin)
    monkeypatch.setattr(delegation_tokens, "admin_properties", lambda options: {})
    monkeypatch.setattr(Admin, "asked", [])
    monkeypatch.setattr(Admin, "tokens", [TOKEN, TOKEN])
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()

    def run(*words: str) -> tuple[int, str]:
        code = main([*PLACE, *words])
        return code, capsys.readouterr().out

    yield run
    monkeypatch.undo()
    time.tzset()


def test_create(command: Command) -> None:
    renewers = ("--renewer-principal", "User:bob", "--renewer-principal", " User:a scheduler ")
    assert command("--create", "--max-life-time-period", "-1", *renewers) == (
        0,
        "Calling create token operation with renewers :[User:bob, User:a scheduler] , max-life-time-period :-1\n"
        f"Created delegation token with tokenId : {TOKEN.token_id}\n\n{HEAD}\n{ROW}\n",
    )
    assert Admin.asked == [("create", [BOB, SCHEDULER], -1)]
    command("--create", "--max-life-time-period", "5")
    assert Admin.asked[-1] == ("create", [], 5)


def test_renew(command: Command) -> None:
    assert command("--renew", "--hmac", "aG0=", "--renew-time-period", "-1") == (
        0,
        "Calling renew token operation with hmac :aG0= , renew-time-period :-1\n"
        "Completed renew operation. New expiry date : 2021-05-02T10:00\n",
    )
    assert Admin.asked == [("renew", b"hm", -1)]


def test_expire(command: Command) -> None:
    assert command("--expire", "--hmac", "aG0", "--expiry-time-period", "7") == (
        0,
        "Calling expire token operation with hmac :aG0 , expire-time-period : 7\n"
        "Completed expire operation. New expiry date : 2021-05-02T10:00\n",
    )
    assert Admin.asked == [("expire", b"hm", 7)]


def test_describe(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command("--describe") == (
        0,
        "Calling describe token operation for current user.\n"
        f"Total number of tokens : 2\n\n{HEAD}\n{ROW}\n\n{ROW}\n",
    )
    monkeypatch.setattr(Admin, "tokens", [])
    owners = ("--owner-principal", "User:alice", "--owner-principal", "User:bob")
    assert command("--describe", *owners) == (
        0,
        "Calling describe token operation for owners :[User:alice, User:bob]\n"
        f"Total number of tokens : 0\n\n{HEAD}",
    )
    assert Admin.asked == [("describe", None), ("describe", [ALICE, BOB])]


def test_a_document(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admin, "tokens", [TOKEN])
    code, printed = command("--describe", "--output", "json")
    assert code == 0
    assert json.loads(printed) == [
        {"token_id": TOKEN.token_id, "hmac": "aG0=", "owner": "User:alice",
         "renewers": ["User:bob", "User:a scheduler"], "issued_ms": TOKEN.issued_ms, "expires_ms": TOKEN.expires_ms,
         "max_ms": TOKEN.max_ms}
    ]  # fmt: skip
    with pytest.raises(UsageError):
        command("--create", "--max-life-time-period", "-1", "--output", "json")


def test_errors(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    before = "Error while executing delegation token command : "
    code, printed = command("--renew", "--hmac", "no base64!", "--renew-time-period", "-1")
    assert (code, Admin.asked) == (1, [])
    assert printed.splitlines()[-1].startswith(before)
    code, printed = command("--create", "--max-life-time-period", "-1", "--renewer-principal", "bob")
    assert (code, Admin.asked) == (1, [])
    assert printed.splitlines()[-1].startswith(before)
    monkeypatch.setattr(Admin, "error", KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND))
    code, printed = command("--expire", "--hmac", "aG0=", "--expiry-time-period", "-1")
    assert code == 1
    assert printed.splitlines()[-1] == (
        before + "org.apache.kafka.common.errors.DelegationTokenNotFoundException: "
        "Delegation Token is not found on server."
    )


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (PLACE, "exactly one action"),
        ((*PLACE, "--create", "--renew"), "exactly one action"),
        (("--describe", "--bootstrap-server", "h:1"), "command-config"),
        (("--describe", "--command-config", "c"), "bootstrap-server"),
        ((*PLACE, "--create"), "max-life-time-period"),
        ((*PLACE, "--renew", "--renew-time-period", "1"), "hmac"),
        ((*PLACE, "--renew", "--hmac", "x"), "renew-time-period"),
        ((*PLACE, "--expire", "--hmac", "x"), "expiry-time-period"),
        ((*PLACE, "--create", "--max-life-time-period", "1", "--hmac", "x"), "hmac"),
        ((*PLACE, "--describe", "--renew-time-period", "1"), "renew-time"),
        ((*PLACE, "--describe", "--hmac", "x"), "hmac"),
        ((*PLACE, "--create", "--max-life-time-period", "1", "--owner-principal", "User:a"), "owner-principal"),
        ((*PLACE, "--renew", "--hmac", "x", "--renew-time-period", "0", "--expiry-time-period", "0"), "expiry"),
        ((*PLACE, "--expire", "--hmac", "x", "--expiry-time-period", "0", "--renew-time-period", "0"), "renew-time"),
        ((*PLACE, "--describe", "--hmac", "x"), "hmac"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        check(parser().parse(words))


def test_a_period_is_a_number() -> None:
    with pytest.raises(UsageError, match="Cannot parse argument 'x' of option max-life-time-period"):
        parser().parse([*PLACE, "--create", "--max-life-time-period", "x"])


def test_padding_may_be_left_out() -> None:
    assert [hmac_in(text) for text in ("aG0=", "aG0", "aGg", "")] == [b"hm", b"hm", b"hh", b""]
