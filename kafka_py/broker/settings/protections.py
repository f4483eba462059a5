"""Settings that ask for a protection which this broker does not give: it refuses to start rather than run open.

The rule: what decides who may do what, or who somebody is, is enforced or refused; one setting, whose value names the
others, lets the broker start all the same. TLS and SASL need no row here: a listener that uses them is refused by
itself (net/endpoints.py), and without such a listener their settings mean nothing to Apache Kafka either. Quotas limit
how much, not who: where they are not enforced, the start says so (column `no_effect` of the tables).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Option, OptionTable

OVERRIDE = "kafka_py.unenforced.settings"


class Protection(NamedTuple):
    """What a setting asks for. given: the classes whose work this broker does. lost: what is open without others."""

    given: frozenset[str]
    lost: str


PROTECTIONS = {
    "authorizer.class.name": Protection(
        frozenset(), "this broker has no authorizer yet, so everybody could do everything"
    ),
    "principal.builder.class": Protection(
        frozenset({"org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"}),
        "this broker cannot run the Java class that decides who a client is",
    ),
}


class ProtectionOptions(OptionTable):
    """Which protections an operator does without."""

    unenforced_settings = Option[list[str]](
        OVERRIDE, [], about="Settings that ask for a protection this broker lacks, and shall not stop its start.",
    )

    def validate(self) -> None:
        super().validate()
        for name, value, lost in self._unprotected():
            if name not in self.unenforced_settings:
                raise ConfigError(
                    f"{name}={value} is not supported: {lost}. Remove it, or name it in {OVERRIDE} to start without it."
                )

    def unprotected(self) -> Iterator[str]:
        """One line for each protection that the operator does without."""
        for name, value, lost in self._unprotected():
            yield f"{name}={value} is not enforced: {lost}"

    def _unprotected(self) -> Iterator[tuple[str, str, str]]:
        """Setting as given, its value, and what is open without it."""
        for name, value in self.originals.items():
            setting = next((one for one in PROTECTIONS if name == one or _is_of_listener(name, one)), None)
            if setting is None or not (text := str(value or "").strip()):
                continue
            given, lost = PROTECTIONS[setting]
            if text not in given:
                yield name, text, lost


def _is_of_listener(name: str, setting: str) -> bool:
    return name.startswith("listener.name.") and name.endswith(f".{setting}")
