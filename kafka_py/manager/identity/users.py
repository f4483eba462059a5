"""The users file of the manager: a name, a role and a hashed password per line.

Layout: `name:role:scrypt$n$r$p$salt$hash` per line, salt and hash in base64; empty lines and those that begin with #
are skipped. The file is read again when it has changed, so a user that was added or removed needs no restart.
Passwords are hashed by scrypt (RFC 7914).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.roles import AccessRole, WebUser, role_of

COST, BLOCK, PARALLEL = 1 << 14, 8, 1
"""Of scrypt: 16 MiB and about 50 ms per password."""
MOST_MEMORY_BYTES = 64 << 20
SALT_BYTES, HASH_BYTES = 16, 32
LEAST_PASSWORD, MOST_PASSWORD = 8, 1_000


class UserRow(NamedTuple):
    """One line of the users file."""

    name: str
    role: AccessRole
    password_hash: str


class UsersFileError(ValueError):
    """The users file cannot be read, or a line of it is malformed; the text says which one."""


def hash_password(password: str, salt: bytes) -> str:
    """The text that the users file has for a password."""
    return _text(salt, _scrypt(password, salt, COST, BLOCK, PARALLEL), COST, BLOCK, PARALLEL)


def _text(salt: bytes, digest: bytes, *costs: int) -> str:
    words = [str(cost) for cost in costs] + [base64.b64encode(each).decode() for each in (salt, digest)]
    return "$".join(["scrypt", *words])


def _scrypt(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    return hashlib.scrypt(
        password.encode(), salt=salt, n=cost, r=block, p=parallel, maxmem=MOST_MEMORY_BYTES, dklen=HASH_BYTES
    )


def is_password(password: str, password_hash: str) -> bool:
    """Whether the password is the one that was hashed; takes as long for a wrong one. A malformed hash fits none."""
    try:
        _, cost, block, parallel, salt, digest = password_hash.split("$")
        found = _scrypt(password, base64.b64decode(salt), int(cost), int(block), int(parallel))
        return hmac.compare_digest(found, base64.b64decode(digest))
    except ValueError:
        return False


def parse_users(text: str) -> dict[str, UserRow]:
    """The users of a file's text by name. Raises UsersFileError, which names the line."""
    users = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            name, title, password_hash = line.strip().split(":", 2)
            users[name] = UserRow(name, role_of(title), password_hash)
        except ValueError as error:
            raise UsersFileError(f"Line {number} of the users file is not `name:role:hash`: {error}") from None
    return users


def format_users(users: Mapping[str, UserRow]) -> str:
    """The text of a file with these users."""
    return "".join(f"{row.name}:{row.role.title}:{row.password_hash}\n" for row in users.values())


def with_user(text: str, row: UserRow) -> str:
    """The text of a file with the line of one user replaced or added; all others stay, comments as well."""
    lines = text.splitlines()
    own = [number for number, line in enumerate(lines) if line.strip().partition(":")[0] == row.name]
    new = format_users({row.name: row}).rstrip("\n")
    at = own[0] if own else len(lines)
    kept = [line for number, line in enumerate(lines) if number not in own]
    return "\n".join([*kept[:at], new, *kept[at:]]) + "\n"


def _proof(row: UserRow) -> str:
    return hashlib.sha256(row.password_hash.encode()).hexdigest()


def new_user(name: str, role: AccessRole, password: str, chance: Chance) -> UserRow:
    """A user with a new salt. Raises ValueError for a name or password that cannot be used."""
    if not name or len(name) > 100 or any(sign in ":#" or not sign.isprintable() for sign in name):
        raise ValueError("A user's name has 1 to 100 printable characters, without : and #")
    if name != name.strip():
        raise ValueError("A user's name has no blanks at its ends")
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        raise ValueError(f"A password has {LEAST_PASSWORD} to {MOST_PASSWORD} characters")
    salt = chance.number(0, (1 << 8 * SALT_BYTES) - 1).to_bytes(SALT_BYTES, "big")
    return UserRow(name, role, hash_password(password, salt))


class UsersFile:
    """The users of a file, which is read again when it changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._users: dict[str, UserRow] = {}

    def users(self) -> dict[str, UserRow]:
        """All users by name. Raises UsersFileError."""
        try:
            status = self.path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._users, self._stamp = parse_users(self.path.read_text(encoding="utf-8")), stamp
        except (OSError, UnicodeDecodeError) as error:
            raise UsersFileError(f"The users file {self.path} cannot be read: {error}") from None
        return self._users

    def authenticate(self, name: str, password: str) -> WebUser | None:
        """The user whose password this is. Takes as long for a name that is not in the file. Raises UsersFileError."""
        row = self.users().get(name)
        fits = is_password(password, row.password_hash if row is not None else _NO_ONES_HASH)
        return WebUser(row.name, row.role, _proof(row)) if row is not None and fits else None

    def role_now(self, user: WebUser) -> AccessRole | None:
        """The role that a user has in the file as it is now; None for one that was removed or has another password."""
        row = self.users().get(user.name)
        return None if row is None or _proof(row) != user.proof else row.role

    def add(self, row: UserRow) -> None:
        """Adds or replaces a user; only the owner of the file may read it. Raises OSError, UsersFileError."""
        text = ""
        if self.path.exists():
            self.users()  # raises where the file is malformed
            text = self.path.read_text(encoding="utf-8")
        write_private(self.path, with_user(text, row))


def write_private(path: Path, text: str) -> None:
    """Replaces a file as a whole; only its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


_NO_ONES_HASH = _text(bytes(SALT_BYTES), bytes(HASH_BYTES), COST, BLOCK, PARALLEL)
