"""What closes a cluster on this machine: users with passwords, certificates, and the settings of brokers and clients.

    DIR/passwords.properties   users and their passwords
    DIR/*.pem, DIR/*.p12       an authority, and stores for brokers and users (kafka-make-certificates.sh)
    DIR/USER.properties        what a client of that user is told

Only the owner can read what is secret. With logins every user may come by each SCRAM mechanism; without, the name in a
client's certificate says who it is, so that a user is User:alice by every protocol. Source: docs/security.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafka_py.base.chance import Chance
from kafka_py.base.properties import format_properties, read_properties
from kafka_py.cli.certificates.make_certificates import (
    AUTHORITY_FILE,
    PASSWORD_FILE,
    TRUSTSTORE_FILE,
    check_names,
    make_files,
)
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.whole_files import write_secret

PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
BROKER, ADMIN = "broker", "admin"
"""Users of every secured cluster, both super users: its brokers, and whoever looks after it."""
SCRAM_256, SCRAM_512, PLAIN, OAUTHBEARER = "SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN", "OAUTHBEARER"
SCRAM = (SCRAM_512, SCRAM_256)
PASSWORDS_FILE = "passwords.properties"
HOSTS = "localhost,127.0.0.1,::1"
ACLS = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}

_PLAIN_WORD = re.compile("[A-Za-z][A-Za-z0-9_]*")

_MODULES = "org.apache.kafka.common.security"
_MODULE = {
    PLAIN: f"{_MODULES}.plain.PlainLoginModule",
    SCRAM_256: f"{_MODULES}.scram.ScramLoginModule",
    SCRAM_512: f"{_MODULES}.scram.ScramLoginModule",
    OAUTHBEARER: f"{_MODULES}.oauthbearer.OAuthBearerLoginModule",
}


@dataclass(frozen=True)
class ClusterSecurity:
    """One of PROTOCOLS, and who may come. folder: of the files. passwords: by user, those of BROKER and ADMIN included.

    mechanisms: by which users may log in; brokers use the first SCRAM mechanism.
    """

    protocol: str
    folder: Path
    passwords: Mapping[str, str] = field(repr=False)
    store_password: str = field(repr=False)
    mechanisms: tuple[str, ...] = SCRAM

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_logins(self) -> bool:
        return self.protocol.startswith("SASL_")

    @property
    def authority(self) -> Path:
        """The certificate that clients have to trust."""
        return self.folder / AUTHORITY_FILE

    def broker_settings(self) -> dict[str, str]:
        """Of every broker, but for its listener, which has the name of the protocol."""
        settings = {"security.inter.broker.protocol": self.protocol, "super.users": f"User:{BROKER};User:{ADMIN}"}
        if self.has_tls:
            settings |= {**self._trust(), **self._keystore(BROKER)}
        if not self.has_logins:
            rules = {"ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/,DEFAULT"}
            return {**settings, "ssl.client.auth": "required", **rules}
        settings["sasl.enabled.mechanisms"] = ",".join(self.mechanisms)
        settings["sasl.mechanism.inter.broker.protocol"] = SCRAM_512
        for mechanism in self.mechanisms:
            name = f"listener.name.{self.protocol.lower()}.{mechanism.lower()}.sasl.jaas.config"
            settings[name] = self._entry(mechanism, BROKER, is_broker=True)
        return settings

    def client_settings(self, user: str, mechanism: str = SCRAM_512, password: str | None = None) -> dict[str, str]:
        """Of a client of this user, under Kafka's names, without servers.

        password: in place of the user's own; with OAUTHBEARER any at all makes a token that brokers refuse.
        """
        settings = {"security.protocol": self.protocol}
        if self.has_tls:
            settings |= self._trust()
        if not self.has_logins:
            return {**settings, **self._keystore(user)}
        settings["sasl.mechanism"] = mechanism
        settings["sasl.jaas.config"] = self._entry(mechanism, user, password)
        return settings

    def _entry(self, mechanism: str, user: str, password: str | None = None, *, is_broker: bool = False) -> str:
        if mechanism == OAUTHBEARER:
            return login_entry(mechanism, token_options(user, is_good=password is None))
        options = {"username": user, "password": self.passwords[user] if password is None else password}
        if mechanism == PLAIN and is_broker:
            options |= {f"user_{name}": own for name, own in self.passwords.items()}
        return login_entry(mechanism, options)

    def _trust(self) -> dict[str, str]:
        return {
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(self.folder / TRUSTSTORE_FILE),
            "ssl.truststore.password": self.store_password,
        }

    def _keystore(self, user: str) -> dict[str, str]:
        return {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(self.folder / f"{user}.p12"),
            "ssl.keystore.password": self.store_password,
            "ssl.key.password": self.store_password,
        }

    def certificate_of(self, user: str) -> tuple[Path, Path]:
        """The user's certificate and key as PEM files, where the protocol has them."""
        return self.folder / f"{user}-certificate.pem", self.folder / f"{user}-key.pem"


def token_options(user: str, *, is_good: bool = True) -> dict[str, str]:
    """Options of a login by an unsigned token (KIP-255). is_good: else brokers refuse it, for it names nobody."""
    if is_good:
        return {"unsecuredLoginStringClaim_sub": user}
    return {"unsecuredLoginStringClaim_other": user, "unsecuredLoginPrincipalClaimName": "other"}


def login_entry(mechanism: str, options: Mapping[str, str]) -> str:
    """A value of sasl.jaas.config (KIP-85)."""
    words = [f"{name if _PLAIN_WORD.fullmatch(name) else _quoted(name)}={_quoted(value)}"
             for name, value in options.items()]  # fmt: skip
    return f"{_MODULE[mechanism]} required {' '.join(words)};"


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def make(
    folder: Path, protocol: str, users: Mapping[str, str] | Sequence[str] = (), mechanisms: tuple[str, ...] = SCRAM
) -> ClusterSecurity:
    """Makes what is missing in the folder: certificates are issued again, passwords stay as they are.

    users: names with passwords, or names that get a random one; BROKER and ADMIN are among them in any case. Raises
    OSError, CommandFailed.
    """
    for name in users:
        if "/" in name or name.startswith("."):
            raise CommandFailed(f"{name!r} cannot be the name of a file")
    if protocol == "SSL":
        check_names([BROKER], [ADMIN, *users], [PASSWORDS_FILE])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stored = folder / PASSWORDS_FILE
    passwords = read_properties(stored) if stored.exists() else {}
    given = users if isinstance(users, Mapping) else {}
    for name in (BROKER, ADMIN, *users):
        passwords[name] = given.get(name) or passwords.get(name) or Chance().new_uuid().hex
    write_secret(stored, format_properties(passwords))
    store_password = ""
    if protocol.endswith("SSL"):
        clients = [] if protocol.startswith("SASL_") else [name for name in passwords if name != BROKER]
        for _ in make_files(folder, [BROKER], clients, HOSTS.split(",")):
            pass
        store_password = (folder / PASSWORD_FILE).read_text()
    return ClusterSecurity(protocol, folder, passwords, store_password, mechanisms)
