"""Security settings that this broker does not enforce: it does not start with them, rather than run unprotected.

Settings of authorization and authentication are enforced or stop the start, unless the override setting lists them. TLS
and SASL need no row here: net/endpoints.py rejects a listener that uses them, and without such a listener their
settings have no effect in Apache Kafka either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Option, OptionTable
from kafka_py.base.plugins import find_class
from kafka_py.zk.configs import ZkTlsOptions

OVERRIDE = "kafka_py.unenforced.settings"


class Protection(NamedTuple):
    """The protection of a setting.

    given: the classes that this broker replaces. lost: the effect of missing others. methods: those of Python classes
    that may be named instead.
    """

    given: frozenset[str]
    lost: str
    methods: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether this broker has what the setting names."""
        path = name.replace(":", ".")
        return name in self.given or (bool(self.methods) and find_class(path, self.methods) is not None)


PROTECTIONS = {
    "principal.builder.class": Protection(
        frozenset({"org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"}),
        "there is no such Python class with a method build, and this broker cannot run a Java class",
        ("build",),
    ),
}


AUTHORIZER_ZOOKEEPER = "authorizer.zookeeper."
"""What settings of the authorizer's own session begin with: those of the broker's session with `authorizer.` before."""
AUTHORIZER_ZOOKEEPER_URL = "authorizer.zookeeper.url"
AUTHORIZER_SETTINGS = (
    "super.users",
    "allow.everyone.if.no.acl.found",
    AUTHORIZER_ZOOKEEPER_URL,
    *(f"{AUTHORIZER_ZOOKEEPER}{end}" for end in ("connection.timeout.ms", "session.timeout.ms",
                                                 "max.in.flight.requests")),
    *(f"authorizer.{name}" for name in ZkTlsOptions.ROWS),
)  # fmt: skip
"""Settings that are read by the authorizer, and by nobody else."""


class ProtectionOptions(OptionTable):
    """The setting that lists protections to start without."""

    unenforced_settings = Option[list[str]](
        OVERRIDE, [], about="Settings of a protection that this broker lacks, which do not stop its start.",
    )

    def validate(self) -> None:
        super().validate()
        for name, value, lost in self._unprotected():
            if name not in self.unenforced_settings:
                raise ConfigError(
                    f"{name}={value} is not supported: {lost}. Remove it, or name it in {OVERRIDE} to start without it."
                )

    def unprotected(self) -> Iterator[str]:
        """One line for each overridden protection."""
        for name, value, lost in self._unprotected():
            yield f"{name}={value} is not enforced: {lost}"

    def is_enforced(self, name: str) -> bool:
        """Whether this broker does what a setting with a protection says."""
        return name not in {each for each, _, _ in self._unprotected()}

    def _unprotected(self) -> Iterator[tuple[str, str, str]]:
        """Each missing protection: setting, value, and its effect."""
        for name, value in self.originals.items():
            setting = next((one for one in PROTECTIONS if name == one or _is_of_listener(name, one)), None)
            if setting is None or not (text := str(value or "").strip()):
                continue
            if not PROTECTIONS[setting].has(text):
                yield name, text, PROTECTIONS[setting].lost


def _is_of_listener(name: str, setting: str) -> bool:
    return name.startswith("listener.name.") and name.endswith(f".{setting}")
