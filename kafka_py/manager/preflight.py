"""What is checked before the manager listens, so that a wrong setting ends its start with one line that names it.

Files and folders are tried as the manager will use them. Settings of a cluster's clients are not: the pages of that
cluster say what is wrong with them, and the other clusters are shown.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from pathlib import Path

from kafka_py.base.errors import ConfigError
from kafka_py.manager.history.background import SECTION as HISTORY
from kafka_py.manager.history.background import settings_of_history
from kafka_py.manager.identity.oidc.settings import SECTION as OIDC
from kafka_py.manager.identity.users import UsersFile, UsersFileError
from kafka_py.manager.pages.message_parts import PART as MESSAGES
from kafka_py.manager.pages.message_parts import parts_of_settings
from kafka_py.manager.settings import ManagerSettings

SECTIONS = (HISTORY, MESSAGES)
"""Those of parts; [oidc], [[cluster]] and [[mask]] are read with the file."""


def check_settings(settings: ManagerSettings) -> None:
    """Raises ConfigError, which names the setting and says what to do."""
    settings.validate()
    for name in settings.extra:
        if name not in SECTIONS:
            raise ConfigError(f"There is no section [{name}]; there are [{'], ['.join((*SECTIONS, OIDC))}]")
    settings_of_history(settings.extra.get(HISTORY, {}))
    parts_of_settings(settings)
    _check_tls(settings)
    if settings.users is not None:
        try:
            UsersFile(settings.users).users()
        except UsersFileError as error:
            raise ConfigError(
                f"users: {error}; `kafka-py web --users {settings.users} --add-user NAME` adds a user"
            ) from None
    if settings.data is not None:
        _check_folder("data", settings.data)
    if settings.audit_log is not None:
        _try("audit_log", settings.audit_log, "name a file that this user may append to", _append)


def _check_tls(settings: ManagerSettings) -> None:
    """Raises ConfigError for what no server could be started with."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return
    for name, path in (("tls_certificate", settings.tls_certificate), ("tls_key", settings.tls_key)):
        _try(name, path, "name a PEM file that this user may read", Path.read_bytes)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            settings.tls_certificate, settings.tls_key, password=_no_password
        )
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"tls_certificate and tls_key: {settings.tls_certificate} and {settings.tls_key} are no certificate chain "
            f"with its key in PEM, without a password: {error}"
        ) from None


def _no_password() -> str:
    """OpenSSL would ask for it on the terminal."""
    raise ValueError("the key has a password")


def _check_folder(setting: str, folder: Path) -> None:
    """Raises ConfigError for one that cannot be made or written to."""

    def write(path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        tried = path / ".writable"
        tried.write_bytes(b"")
        tried.unlink()

    _try(setting, folder, "name a folder that this user may write to", write)


def _append(path: Path) -> None:
    """Leaves a new file where it is, as the log would make it: another process may have written to it already, and a
    link is not to be removed in place of the file that it names.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))


def _try(setting: str, path: Path, advice: str, use: Callable[[Path], object]) -> None:
    """Raises ConfigError."""
    try:
        use(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"{setting}: {path} cannot be used: {reason}; {advice}") from None
