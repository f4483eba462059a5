"""Refused logins in the audit log: one line per address and second, the others are counted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_py.manager.identity.oidc import refusals
from kafka_py.manager.identity.oidc.refusals import LINE_MS, RefusedLogins
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.web_manager import CalledManager

from .conftest import CodeProvider
from .played_logins import back, entries


def test_one_is_due_per_address_and_second() -> None:
    clock = ManualClock()
    refused = RefusedLogins(clock)
    assert [refused.count("a") for _ in range(4)] == [0, None, None, None]
    assert refused.count("b") == 0
    clock.advance(LINE_MS - 1)
    assert refused.count("a") is None
    clock.advance(1)
    assert [refused.count("a"), refused.count("a"), refused.count("b")] == [4, None, 0]


def test_addresses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MOST_ADDRESSES", 2)
    refused = RefusedLogins(ManualClock())
    for address in ("a", "b", "a", "c"):  # b was refused longest ago
        refused.count(address)
    assert [refused.count("a"), refused.count("b"), refused.count("c")] == [None, 0, 0]


def test_the_audit_log_has_the_first_and_how_many_followed(
    played: Callable[..., None], provider: CodeProvider, manager_clock: ManualClock, tmp_path: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        for _ in range(50):
            assert (await back(manager, {"state": "0", "code": "c"})).status_code == 400
        manager_clock.advance(LINE_MS)
        await back(manager, {"state": "0", "code": "c"})

    played(scene, clusters=(), oidc=provider.settings())
    first, second = entries(tmp_path)
    assert (first["action"], first["outcome"]) == ("login", "refused")
    assert "more refused" not in first["detail"]
    assert second["detail"] == f"{first['detail']} (49 more refused from this address since its last entry)"
