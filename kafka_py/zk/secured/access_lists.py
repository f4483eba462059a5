"""Access lists of znodes: who may do what with one of them, and which list a new one gets (zookeeper.set.acl).

Pure. An identity is a scheme and an id; `auth` stands for the identities of the session that sends it, in whose place
the server stores them, as `sasl:alice` or `x509:CN=broker`. Writing a znode never changes its list.
Source: docs/reference/security/zookeeper.md, section 3; the ZooKeeper programmer's guide.
"""

from __future__ import annotations

from enum import IntFlag
from typing import NamedTuple

from kafka_py.zk.config_znodes import ConfigTypeZNode
from kafka_py.zk.znodes import ConsumersZNode, TokensZNode


class Access(IntFlag):
    """What an entry permits, in ZooKeeper's bits."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16
    ALL = 31


_LETTERS = {
    Access.CREATE: "c",
    Access.DELETE: "d",
    Access.READ: "r",
    Access.WRITE: "w",
    Access.ADMIN: "a",
}
"""In the order in which ZooKeeper's shell prints them."""


class AccessEntry(NamedTuple):
    """One entry of an access list."""

    access: Access
    scheme: str
    id: str

    @property
    def letters(self) -> str:
        """The permissions as ZooKeeper's shell has them: `cdrwa`."""
        return "".join(letter for access, letter in _LETTERS.items() if access in self.access)


def access_of(letters: str) -> Access:
    """The permissions of a text like `cdrwa`. Raises ValueError for another letter."""
    by_letter = {letter: access for access, letter in _LETTERS.items()}
    found = Access(0)
    for letter in letters:
        if letter not in by_letter:
            raise ValueError(f"{letter!r} is no permission")
        found |= by_letter[letter]
    return found


AccessList = tuple[AccessEntry, ...]

OPEN: AccessList = (AccessEntry(Access.ALL, "world", "anyone"),)
"""Everybody may do everything."""

CREATOR_ONLY: AccessList = (AccessEntry(Access.ALL, "auth", ""),)
CREATOR_AND_READERS: AccessList = (*CREATOR_ONLY, AccessEntry(Access.READ, "world", "anyone"))

SENSITIVE_PATHS = (ConfigTypeZNode.path("users"), ConfigTypeZNode.path("brokers"), TokensZNode.path())
"""Paths that begin so hold secrets: password hashes, encrypted passwords of brokers, tokens."""


def access_list_of(path: str, *, protected: bool) -> AccessList:
    """The list of a znode. path: below the chroot. protected: zookeeper.set.acl.

    /consumers itself is always open: the old consumers of every user create their znodes there.
    """
    if not protected or path == ConsumersZNode.path():
        return OPEN
    return CREATOR_ONLY if path.startswith(SENSITIVE_PATHS) else CREATOR_AND_READERS
