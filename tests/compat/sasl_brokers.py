"""What brokers with logins are told, whichever program they are, and what clients of each library are told."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import free_port

MODULE = "org.apache.kafka.common.security"
PLAIN_MODULE = f"{MODULE}.plain.PlainLoginModule"
SCRAM_MODULE = f"{MODULE}.scram.ScramLoginModule"
OAUTH_MODULE = f"{MODULE}.oauthbearer.OAuthBearerLoginModule"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
USER, PASSWORD = "alice", "alice-secret"
BROKER_USER, BROKER_PASSWORD = "broker", "broker-secret"


class Ports(NamedTuple):
    """Of one broker."""

    plain: int
    sasl: int


def ports() -> Ports:
    return Ports(free_port(), free_port())


def broker_settings(at: Ports, *, between: str | None = None, **more: str) -> dict[str, str]:
    """A broker with a plain listener and one with logins. between: the mechanism that brokers use; None: no logins."""
    prefix = "listener.name.sasl_plaintext."
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{at.plain},SASL_PLAINTEXT://127.0.0.1:{at.sasl}",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{prefix}plain.sasl.jaas.config": f'{PLAIN_MODULE} required username="{BROKER_USER}" '
        f'password="{BROKER_PASSWORD}" user_{BROKER_USER}="{BROKER_PASSWORD}" user_{USER}="{PASSWORD}";',
        f"{prefix}oauthbearer.sasl.jaas.config": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="broker";',
    }
    for mechanism in ("scram-sha-256", "scram-sha-512"):
        settings[f"{prefix}{mechanism}.sasl.jaas.config"] = (
            f'{SCRAM_MODULE} required username="{BROKER_USER}" password="{BROKER_PASSWORD}";'
        )
    if between is not None:
        settings |= {"security.inter.broker.protocol": "SASL_PLAINTEXT",
                     "sasl.mechanism.inter.broker.protocol": between}  # fmt: skip
    return {**settings, **more}


def java_settings(mechanism: str, password: str = PASSWORD, user: str = USER) -> dict[str, str]:
    """Of Java's clients and ours."""
    if mechanism == "OAUTHBEARER":
        claims = f'unsecuredLoginStringClaim_sub="{user}"'
        if password != PASSWORD:  # a token that the broker refuses
            claims = f'unsecuredLoginStringClaim_other="{user}" unsecuredLoginPrincipalClaimName="other"'
        entry = f"{OAUTH_MODULE} required {claims};"
    else:
        module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
        entry = f'{module} required username="{user}" password="{password}";'
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": entry}


def librdkafka_settings(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    """Of confluent-kafka and kcat."""
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": mechanism}
    if mechanism == "OAUTHBEARER":
        name = "sub" if password == PASSWORD else "other"
        return settings | {
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": f"principal={USER} principalClaimName={name}",
        }
    return settings | {"sasl.username": USER, "sasl.password": password}


def property_text(settings: Mapping[str, str]) -> str:
    """For a file of --command-config."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())


class Secured(BrokerProcess):
    """A broker with logins; `sasl` is the address that asks for them."""

    def __init__(self, folder: Path, connect: str, between: str | None = None, **settings: str) -> None:
        at = ports()
        super().__init__(folder, connect, port=at.plain, settings=broker_settings(at, between=between, **settings))
        self.sasl = f"127.0.0.1:{at.sasl}"
