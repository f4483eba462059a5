"""Settings of a broker from environment variables, with the names that the well-known images of Kafka have.

`KAFKA_LOG_RETENTION_HOURS` is log.retention.hours: one underscore is a dot, two are an underscore, three a hyphen.
`KAFKA_CFG_...` is the same. Pure: files are read by the function that is handed in. Source: KIP-975.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.cli.container.variables import ReadSecret, given_values

PREFIX = "KAFKA_"
PREFIXES = ("KAFKA_CFG_", PREFIX)
DATA = "/var/lib/kafka/data"
SECRETS = "/etc/kafka/secrets"

OF_JAVA = frozenset(
    PREFIX + name
    for name in (
        "CLASSPATH", "DEBUG", "GC_LOG_OPTS", "HEAP_OPTS", "JMX_HOSTNAME", "JMX_OPTS", "JMX_PORT",
        "JVM_PERFORMANCE_OPTS", "LOG4J_LOGGERS", "LOG4J_ROOT_LOGLEVEL", "TOOLS_LOG4J_LOGLEVEL",
    )
)  # fmt: skip
"""Known to other images, without effect here: there is no Java in this one."""

OF_THE_COMMAND = frozenset({"KAFKA_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_HOME", "KAFKA_VERSION"})
"""Read by the server itself (the login file, the logging file), or set by images for their scripts."""

OUR_OWN = "KAFKA_PY_"
OF_KUBERNETES = re.compile(r"KAFKA(_\w+)?_(SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)")
"""What Kubernetes puts into every container for a service that is called kafka; so is KAFKA_PORT=tcp://..."""

_SEPARATORS = {1: ".", 2: "_", 3: "-"}
_FILES = {"ssl.keystore.filename": "ssl.keystore.location", "ssl.truststore.filename": "ssl.truststore.location"}
_CREDENTIALS = {
    "ssl.keystore.credentials": "ssl.keystore.password",
    "ssl.key.credentials": "ssl.key.password",
    "ssl.truststore.credentials": "ssl.truststore.password",
}
"""Names of files in /etc/kafka/secrets, as two of the well-known images have them."""


class BrokerVariables(NamedTuple):
    """settings: complete. origins: the variable of each setting that came from one. without_effect: variables."""

    settings: dict[str, str]
    origins: dict[str, str]
    without_effect: list[str]


def broker_settings(environment: Mapping[str, str], base: Mapping[str, str], read: ReadSecret) -> BrokerVariables:
    """The settings that the variables make, on top of `base` (a mounted server.properties). Raises ConfigError."""
    given: dict[str, str] = {}
    origins: dict[str, str] = {}
    values = given_values(environment, [PREFIX], read)
    without_effect = sorted(values.keys() & OF_JAVA)
    for variable, value in values.items():
        if not _is_setting(variable, value):
            continue
        name, text = _pair(variable, value, read)
        if name in given:
            raise ConfigError(f"{origins[name]} and {variable} both set {name}: leave one of them out")
        given[name], origins[name] = text, variable
    settings = {**base, **given}
    if "log.dirs" not in settings and "log.dir" not in settings:
        settings["log.dirs"] = DATA
    if "advertised.listeners" in given and "listeners" not in settings:
        settings["listeners"] = bound_listeners(given["advertised.listeners"])
    return BrokerVariables(settings, origins, without_effect)


def setting_of(variable: str) -> str:
    """KAFKA_LOG_DIRS -> log.dirs. Raises ConfigError for more than three underscores in a row."""
    rest = variable
    for prefix in PREFIXES:
        rest = rest.removeprefix(prefix)

    def separator(underscores: re.Match[str]) -> str:
        if len(underscores[0]) not in _SEPARATORS:
            raise ConfigError(f"{variable} has more than three underscores in a row, which stand for nothing")
        return _SEPARATORS[len(underscores[0])]

    return re.sub("_+", separator, rest).lower()


def variable_of(setting: str) -> str:
    """log.dirs -> KAFKA_LOG_DIRS."""
    signs = {sign: "_" * count for count, sign in _SEPARATORS.items()}
    return PREFIX + "".join(signs.get(sign, sign) for sign in setting).upper()


def bound_listeners(advertised: str) -> str:
    """The same names and ports on every address of the container."""
    return re.sub(r"//[^,]*:(\d+)", r"//:\1", advertised)


def _is_setting(variable: str, value: str) -> bool:
    if variable in OF_JAVA or variable in OF_THE_COMMAND or variable.startswith(OUR_OWN):
        return False
    return not OF_KUBERNETES.fullmatch(variable) and not (variable == "KAFKA_PORT" and "://" in value)


def _pair(variable: str, value: str, read: ReadSecret) -> tuple[str, str]:
    name = setting_of(variable)
    if name in _FILES:
        return _FILES[name], f"{SECRETS}/{value}"
    if name in _CREDENTIALS:
        return _CREDENTIALS[name], read(variable, f"{SECRETS}/{value}")
    return name, value
