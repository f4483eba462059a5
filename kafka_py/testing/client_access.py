"""How a client of a test cluster comes in: as which user, and how each library is told so.

    Producer(access.settings)                        kafka_py; Java has the same names
    confluent_kafka.Producer(access.librdkafka)
    kafka.KafkaProducer(**access.kafka_python)
    aiokafka.AIOKafkaProducer(**access.aiokafka)

Without security only the servers are in it, so one test may run with every protocol.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.properties import format_properties
from kafka_py.cli.common.whole_files import write_secret
from kafka_py.cli.local_cluster.security import OAUTHBEARER, SCRAM_512, ClusterSecurity, token_options


@dataclass(frozen=True)
class ClientAccess:
    """One user's. mechanism: of its logins. password: in place of the user's own, to be refused, as then is a token."""

    servers: str
    folder: Path
    security: ClusterSecurity | None = None
    user: str = ""
    mechanism: str = SCRAM_512
    password: str | None = field(default=None, repr=False)

    @property
    def settings(self) -> dict[str, str]:
        """Under Kafka's own names."""
        secured = self.security.client_settings(self.user, self.mechanism, self.password) if self.security else {}
        return {"bootstrap.servers": self.servers, **secured}

    @property
    def properties_file(self) -> Path:
        """The same as a file that only its owner can read, for --command-config and the like."""
        path = self.folder / f"{self.user or 'client'}-{self.mechanism.lower()}.properties"
        if self.password is not None:
            path = path.with_stem(f"{path.stem}-other")
        write_secret(path, format_properties(self.settings))
        return path

    @property
    def librdkafka(self) -> dict[str, Any]:
        """Of confluent-kafka and kcat."""
        settings: dict[str, Any] = {"bootstrap.servers": self.servers}
        security = self.security
        if security is None:
            return settings
        settings["security.protocol"] = security.protocol.lower()
        if security.has_tls:
            settings["ssl.ca.location"] = str(security.authority)
        if not security.has_logins:
            certificate, key = security.certificate_of(self.user)
            return settings | {"ssl.certificate.location": str(certificate), "ssl.key.location": str(key)}
        settings["sasl.mechanisms"] = self.mechanism
        if self.mechanism == OAUTHBEARER:
            claim = "sub" if self.password is None else "other"
            config = f"principal={self.user} principalClaimName={claim}"
            return settings | {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": config}
        return settings | {"sasl.username": self.user, "sasl.password": self._password}

    @property
    def kafka_python(self) -> dict[str, Any]:
        """Keyword arguments."""
        settings = {"bootstrap_servers": self.servers, **self._of_python()}
        security = self.security
        if security is not None and security.has_tls:
            settings["ssl_cafile"] = str(security.authority)
            if not security.has_logins:
                certificate, key = security.certificate_of(self.user)
                settings |= {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)}
        if self.mechanism == OAUTHBEARER and settings.pop("sasl_plain_username", None):
            base = provider_class("kafka.net.sasl.oauth", "kafka.sasl.oauth")
            settings["sasl_oauth_token_provider"] = type("Token", (base,), {"token": lambda _: self._token()})()
        return settings

    @property
    def aiokafka(self) -> dict[str, Any]:
        """Keyword arguments."""
        settings = {"bootstrap_servers": self.servers, **self._of_python()}
        security = self.security
        if security is not None and security.has_tls:
            context = settings["ssl_context"] = ssl.create_default_context(cafile=security.authority)
            if not security.has_logins:
                context.load_cert_chain(*security.certificate_of(self.user))
        if self.mechanism == OAUTHBEARER and settings.pop("sasl_plain_username", None):

            async def token(_: object) -> str:
                return self._token()

            base = provider_class("aiokafka.abc")
            settings["sasl_oauth_token_provider"] = type("Token", (base,), {"token": token})()
        return settings

    def _of_python(self) -> dict[str, Any]:
        """What the two Python libraries have in common; a password only with mechanisms that take one."""
        if self.security is None:
            return {}
        settings: dict[str, Any] = {"security_protocol": self.security.protocol}
        if not self.security.has_logins:
            return settings
        settings |= {"sasl_mechanism": self.mechanism, "sasl_plain_username": self.user}
        return settings if self.mechanism == OAUTHBEARER else settings | {"sasl_plain_password": self._password}

    @property
    def _password(self) -> str:
        assert self.security is not None
        return self.security.passwords[self.user] if self.password is None else self.password

    def _token(self) -> str:
        """An unsigned token of an hour."""
        from kafka_py.security.sasl.oauth_tokens import unsecured_login

        made = unsecured_login(token_options(self.user, is_good=self.password is None), SYSTEM_CLOCK.wall_ms())
        assert made is not None
        return made.value


def provider_class(*modules: str) -> Any:
    """The class that a library's providers of tokens extend; releases of kafka-python have it in different places."""
    for name in modules:
        try:
            return import_module(name).AbstractTokenProvider
        except ImportError:
            continue
    raise ImportError(f"AbstractTokenProvider is in none of {', '.join(modules)}")
