"""kafka-make-certificates.sh: certificates for development, with the settings that use them.

Writes an authority, and for each broker and client a key with a certificate: as PEM, as PKCS12 store, and as a file of
properties to start with. Keys and properties are readable by their owner alone. Source: docs/security.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.cli.common.command import CommandFailed, CommandParser, require, run

if TYPE_CHECKING:
    from kafka_py.security.tls.certificates import Authority, Certified

AUTHORITY_FILE = "authority.pem"
AUTHORITY_KEY_FILE = "authority-key.pem"
TRUSTSTORE_FILE = "truststore.p12"
PASSWORD_FILE = "password"
DAYS = 825


def parser() -> CommandParser:
    table = CommandParser("kafka-make-certificates.sh", "Make certificates for development.")
    table.option("--directory", "REQUIRED: Folder for the files; an authority that is there is used again.",
                 metavar="path")  # fmt: skip
    table.option("--brokers", "Names of brokers, comma-separated.", default="broker", metavar="names")
    table.option("--hosts", "Host names and addresses of every broker, comma-separated.", metavar="hosts",
                 default="localhost,127.0.0.1,::1")  # fmt: skip
    table.option("--clients", "Names of clients, comma-separated; principals are User:CN=<name>.", default="client",
                 metavar="names")  # fmt: skip
    table.option("--days", "How many days the certificates are valid.", default=DAYS, kind=int, metavar="days")
    return table


def write_files(
    folder: Path, authority: Authority, password: str, brokers: Mapping[str, Certified],
    clients: Mapping[str, Certified],
) -> Iterator[str]:  # fmt: skip
    """Writes all files; yields a line about each file of properties."""
    _write(folder / AUTHORITY_KEY_FILE, authority.with_key().encode())
    (folder / AUTHORITY_FILE).write_text(authority.pem())
    (folder / TRUSTSTORE_FILE).write_bytes(authority.pkcs12(password))
    _write(folder / PASSWORD_FILE, password.encode())
    for kind, all_of_them in (("broker", brokers), ("client", clients)):
        for name, certified in all_of_them.items():
            _write(folder / f"{name}.pem", certified.pem(password).encode())
            _write(folder / f"{name}.p12", certified.pkcs12(password))
            _write(folder / f"{name}-key.pem", certified.key_pem().encode())
            (folder / f"{name}-certificate.pem").write_text(certified.certificate_pem())
            properties = folder / f"{name}.properties"
            _write(properties, _properties(folder, name, password, is_client=kind == "client").encode())
            yield f"{kind} {name}: {properties}"


def _properties(folder: Path, name: str, password: str, *, is_client: bool) -> str:
    settings = {
        **({"security.protocol": "SSL"} if is_client else {}),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(folder / f"{name}.p12"),
        "ssl.keystore.password": password,
        "ssl.key.password": password,
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(folder / TRUSTSTORE_FILE),
        "ssl.truststore.password": password,
    }
    return "".join(f"{setting}={value}\n" for setting, value in settings.items())


def _write(path: Path, data: bytes) -> None:
    """A file that only its owner can read, from its first byte on."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if "/" in name or name.startswith("."):
            raise CommandFailed(f"{name!r} cannot be the name of a file")
    return names


def check_names(brokers: Sequence[str], clients: Sequence[str], others: Sequence[str] = ()) -> None:
    """Raises CommandFailed for a name whose files would replace those of another, or the authority itself.

    others: names of files that are also in the folder.
    """
    taken = dict.fromkeys((AUTHORITY_FILE, AUTHORITY_KEY_FILE, TRUSTSTORE_FILE, PASSWORD_FILE, *others), "all of them")
    for kind, names in (("a broker", brokers), ("a client", clients)):
        for name in dict.fromkeys(names):
            for end in (".pem", ".p12", "-key.pem", "-certificate.pem", ".properties"):
                owner = taken.setdefault(name + end, f"{kind}, {name}")
                if owner != f"{kind}, {name}":
                    raise CommandFailed(f"{name!r} cannot be the name of {kind}: {name}{end} is a file of {owner}")


def make_files(
    folder: Path, brokers: Sequence[str], clients: Sequence[str], hosts: Sequence[str], days: float = DAYS
) -> Iterator[str]:
    """Makes the folder and all files in it, with the authority that is there already; yields a line about each file of
    properties. Raises CommandFailed, OSError.
    """
    try:
        from kafka_py.security.tls.certificates import Authority
    except ImportError:
        raise CommandFailed("This needs the package cryptography: pip install cryptography") from None
    check_names(brokers, clients)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept, words = folder / AUTHORITY_KEY_FILE, folder / PASSWORD_FILE
    stored = kept.read_text() if kept.exists() else None
    password = words.read_text() if words.exists() else Chance().new_uuid().hex
    authority = Authority(SYSTEM_CLOCK.wall_ms(), stored=stored)
    yield from write_files(
        folder, authority, password,
        {name: authority.issue(name, hosts, days=(-1.0, days)) for name in brokers},
        {name: authority.issue(name, days=(-1.0, days)) for name in clients},
    )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "directory")
    brokers, clients = _names(options.brokers), _names(options.clients)
    folder = Path(options.directory).absolute()
    try:
        for line in make_files(folder, brokers, clients, _names(options.hosts), options.days):
            print(line)
    except OSError as error:
        raise CommandFailed(f"{error.filename}: {error.strerror}") from None
    print(f"who trusts {folder / AUTHORITY_FILE} trusts all of them")
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
