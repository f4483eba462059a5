"""When a client's Kerberos tickets are got, kept and replaced; the library is the test's own."""

import asyncio
import gc
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.security.sasl.gssapi_exchange import KerberosFailed
from kafka_py.security.sasl.kerberos_library import KerberosLibrary, take_javas_file
from kafka_py.security.sasl.kerberos_settings import KerberosEntry, KerberosRules
from kafka_py.security.sasl.kerberos_tickets import CachedTickets, KerberosLogins, KeytabTickets
from kafka_py.testing.clock import ManualClock

RNG = Chance(1).generator()
RULES = KerberosRules("kafka", window_jitter=0.0)
LIFE_S = 1000.0


class FakeLibrary:
    """Gives numbers for tickets. broken: raised by the next calls."""

    def __init__(self, life_s: float | None = LIFE_S) -> None:
        self.life_s = life_s
        self.asked: list[str] = []
        self.broken: KerberosFailed | None = None

    def ticket_by_keytab(self, entry: KerberosEntry, cache: str) -> tuple[Any, float | None]:
        return self._ticket(cache)

    def ticket_of_cache(self, entry: KerberosEntry) -> tuple[Any, float | None]:
        return self._ticket(str(entry.cache))

    def begin_initiating(self, *arguments: Any) -> Any:
        raise AssertionError("there is no ticket")

    def _ticket(self, name: str) -> tuple[Any, float | None]:
        self.asked.append(name)
        if self.broken is not None:
            raise self.broken
        return len(self.asked), self.life_s


def by_keytab(library: Any, clock: ManualClock) -> KeytabTickets:
    return KeytabTickets(library, KerberosEntry("a", "/k", None), RULES, "name", clock, RNG)


def test_a_ticket_is_used_until_it_is_due() -> None:
    library, clock = FakeLibrary(), ManualClock()
    tickets = by_keytab(library, clock)
    assert [tickets.current(), tickets.current()] == [1, 1]
    clock.advance(LIFE_S * 0.8 * 1000 - 1)
    assert tickets.current() == 1
    clock.advance(1)
    assert tickets.current() == 2
    clock.advance(LIFE_S * 1000)
    assert tickets.current() == 3
    assert library.asked == ["name-0", "name-1", "name-0"]


def test_a_ticket_that_cannot_be_replaced_is_used_to_its_end() -> None:
    library, clock = FakeLibrary(), ManualClock()
    tickets = by_keytab(library, clock)
    tickets.current()
    library.broken = KerberosFailed("no KDC", 156)
    clock.advance(LIFE_S * 0.8 * 1000)
    assert [tickets.current(), tickets.current()] == [1, 1]
    assert len(library.asked) == 2  # the next try is not before min.time.before.relogin
    clock.advance(RULES.least_period_ms)
    tickets.current()
    assert len(library.asked) == 3
    clock.advance(LIFE_S * 0.2 * 1000)
    with pytest.raises(KerberosFailed):
        tickets.current()
    library.broken = None
    assert tickets.current() == 5


def test_a_ticket_without_end_is_kept() -> None:
    library, clock = FakeLibrary(life_s=None), ManualClock()
    tickets = by_keytab(library, clock)
    tickets.current()
    clock.advance(10**12)
    assert tickets.current() == 1


def test_a_login_without_a_ticket_fails_with_the_librarys_reason() -> None:
    library: Any = FakeLibrary()
    library.broken = KerberosFailed("No credentials cache found", 195)
    logins = KerberosLogins(library, by_keytab(library, ManualClock()), "kafka")
    with pytest.raises(KafkaError, match="GSSAPI: No credentials cache found"):
        asyncio.run(logins("localhost"))


def kinit_of_the_test(folder: Path, exit_code: int = 0) -> str:
    """A command in place of kinit that writes down how it is called."""
    path = folder / "kinit"
    path.write_text(f'#!/bin/sh\necho "$@ $KRB5CCNAME" >> {folder}/called\necho broken >&2\nexit {exit_code}\n')
    path.chmod(0o755)
    return str(path)


def test_a_cached_ticket_is_renewed_while_the_client_is_in_use(tmp_path: Path) -> None:
    library: Any = FakeLibrary(life_s=0.01)
    rules = RULES._replace(kinit=kinit_of_the_test(tmp_path), least_period_ms=0.0)

    async def run() -> None:
        tickets = CachedTickets(library, KerberosEntry(None, None, "/t"), rules, RNG)
        tickets.current()
        tickets.renew_in_time()
        async with asyncio.timeout(30):
            while len(library.asked) < 3:  # noqa: ASYNC110  # threads do it
                await asyncio.sleep(0.01)
        called = (tmp_path / "called").read_text().splitlines()
        assert set(called) == {"-R FILE:/t"}

    asyncio.run(run())


def test_a_client_that_is_no_longer_in_use_renews_nothing(tmp_path: Path) -> None:
    library: Any = FakeLibrary(life_s=0.01)
    rules = RULES._replace(kinit=kinit_of_the_test(tmp_path), least_period_ms=0.0)

    async def run() -> None:
        tickets = CachedTickets(library, KerberosEntry(None, None, "/t"), rules, RNG)
        tickets.current()
        tickets.renew_in_time()
        del tickets
        gc.collect()
        await asyncio.sleep(0.02)  # the renewal was due before this timer is

    asyncio.run(run())
    assert not (tmp_path / "called").exists()


def test_the_realms_may_be_in_the_file_that_java_takes() -> None:
    environ = {"KAFKA_OPTS": "-Xmx1g -Djava.security.krb5.conf=/k.conf"}
    take_javas_file(environ)
    assert environ["KRB5_CONFIG"] == "/k.conf"
    environ |= {"KRB5_CONFIG": "/own.conf"}
    take_javas_file(environ)
    assert environ["KRB5_CONFIG"] == "/own.conf"
    take_javas_file(empty := {})
    assert empty == {}


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(ConfigError) as failed:
        KerberosLibrary("sasl.mechanism")
    assert failed.value.message == "sasl.mechanism: GSSAPI needs the package gssapi: pip install 'kafka_py[kerberos]'"
