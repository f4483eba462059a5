"""The login file that `-Djava.security.auth.login.config=FILE` in KAFKA_OPTS names, as Apache's scripts take it.

Source: JaasContext.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.base.errors import ConfigError
from kafka_py.security.java_properties import java_properties
from kafka_py.security.sasl.jaas import LOGIN_FILE_PROPERTY, LoginModule, parse_login_file


def login_file_path(java: Mapping[str, str]) -> str:
    """The path; empty without one. As in Java a second `=` may precede it, and it may be a URL of a file."""
    path = java.get(LOGIN_FILE_PROPERTY, "").removeprefix("=")
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    return path


def login_sections(environ: Mapping[str, str]) -> dict[str, list[LoginModule]]:
    """The sections of the file; empty without one. Raises ConfigError."""
    path = login_file_path(java_properties(environ))
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"Cannot read the login file {path}: {reason}") from None
    return parse_login_file(text, path)
