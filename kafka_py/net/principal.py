"""The principal of a connection. Source: KafkaPrincipal."""

from typing import NamedTuple, Self


class Principal(NamedTuple):
    """A kind and a name, as ACLs and logs write it: `User:alice`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The principal of such a text, split at the first colon. Raises ValueError."""
        kind, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"expected a principal as type:name, not {text!r}")
        return cls(kind, name)


class TokenPrincipal(Principal):
    """A principal that has logged in with a delegation token of its own (KIP-48); otherwise equal to one that has not.

    It may not manage tokens: else whoever gets hold of one could make others that outlast it.
    """

    __slots__ = ()


ANONYMOUS = Principal("User", "ANONYMOUS")
"""Everyone on a listener without authentication."""
