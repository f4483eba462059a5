"""What users may do: read, or change as well."""

from __future__ import annotations

import enum
from typing import NamedTuple


class AccessRole(enum.IntEnum):
    """A higher role may do all that a lower one may. NOBODY: pages that need no login."""

    NOBODY = 0
    READER = 1
    ADMINISTRATOR = 2

    @property
    def title(self) -> str:
        """As files and pages have it: `reader`."""
        return self.name.lower()


class WebUser(NamedTuple):
    """name: as in the users file, or as a provider says; `anonymous` where nobody logs in.

    proof: of the password that let the user in. issuer, subject: of the provider that vouches for the user, and its own
    id of the user; "" for users of the file.
    """

    name: str
    role: AccessRole
    proof: str = ""
    issuer: str = ""
    subject: str = ""


def role_of(title: str) -> AccessRole:
    """The role of a title in a file. Raises ValueError."""
    roles = {role.title: role for role in (AccessRole.READER, AccessRole.ADMINISTRATOR)}
    if title not in roles:
        raise ValueError(f"{title!r} is no role: there are {' and '.join(roles)}")
    return roles[title]
