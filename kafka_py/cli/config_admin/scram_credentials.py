"""SCRAM credentials as kafka-configs.sh is given them: `iterations=8192,password=secret`.

Source: KIP-84, KIP-554; docs/reference/tools.md, section 3.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.options import HIDDEN
from kafka_py.cli.common.command import CommandFailed
from kafka_py.security.sasl.scram_credentials import (
    DIGESTS,
    LEAST_ITERATIONS,
    ScramCredential,
    credential_of,
    random_text,
    salted_password,
)

__all__ = ["DIGESTS", "GivenPassword", "given_password", "random_salt", "stored_credential"]

_GIVEN = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)


class GivenPassword(NamedTuple):
    """What the command line says of one credential."""

    iterations: int
    password: str

    def __repr__(self) -> str:
        return f"<GivenPassword of {self.iterations} iterations>"


def given_password(mechanism: str, given: str) -> GivenPassword:
    """`iterations=8192,password=secret`; 4096 where no number is given. Raises CommandFailed."""
    shown = mechanism.replace("-", "_")
    match = _GIVEN.fullmatch(given)
    if match is None:
        raise CommandFailed(f"Invalid credential property {shown}={HIDDEN}")  # 2.8.2 shows it, password and all
    if not match[2]:  # as with a variable of a script that is not set; Java refuses empty keys
        raise CommandFailed(f"The password of {shown} is empty")
    iterations = int(match[1]) if match[1] and match[1] != "-" else LEAST_ITERATIONS
    if iterations < LEAST_ITERATIONS:
        text = f"Iterations {iterations} is less than the minimum {LEAST_ITERATIONS} required for {shown}"
        raise CommandFailed(text)
    return GivenPassword(iterations, match[2])


def stored_credential(mechanism: str, given: str) -> ScramCredential:
    """The credential to store in ZooKeeper. Raises CommandFailed."""
    iterations, password = given_password(mechanism, given)
    salt = random_salt()
    return credential_of(mechanism, salted_password(mechanism, password, salt, iterations), salt, iterations)


def random_salt() -> bytes:
    """A random number in base 36, as text."""
    return random_text(Chance()).encode()
