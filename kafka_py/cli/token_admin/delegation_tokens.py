"""kafka-delegation-tokens.sh: makes, renews, ends and describes delegation tokens (KIP-48).

Source: docs/reference/security/tokens.md, section 6; DelegationTokenCommand.
"""

from __future__ import annotations

import argparse
import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import KafkaError
from kafka_py.cli.common.command import CommandParser, UsageError, forbid_together, log_warnings, require, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.common.documents import output_option, print_document
from kafka_py.cli.java_compat.java_dates import DatePattern
from kafka_py.cli.java_compat.java_errors import classic_text
from kafka_py.net.principal import Principal

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AdminClient
    from kafka_py.security.tokens.delegation_tokens import DelegationToken

ACTIONS = ("create", "renew", "expire", "describe")
NEEDED = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}
FORBIDDEN = {
    "create": ("hmac", "renew-time-period", "expiry-time-period", "owner-principal", "output"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal", "output"),
    "expire": ("renew", "max-life-time-period", "renew-time-period", "owner-principal", "output"),
    "describe": ("renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}
_COLUMNS = ("TOKENID", "HMAC", "OWNER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")
_ROW = "%-15s %-30s %-15s %-25s %-15s %-15s %-15s"
_DATE = "yyyy-MM-dd'T'HH:mm"


def parser() -> CommandParser:
    table = CommandParser("kafka-delegation-tokens.sh", "Create, renew, expire and describe delegation tokens.")
    add_connection(table)
    table.flag("--create", "Make a token for the user of --command-config, who must log in without a token.")
    table.flag("--renew", "Put off the end of a token.")
    table.flag("--expire", "End a token, at once or at another time.")
    table.flag("--describe", "Show the tokens that the user owns, may renew, or may describe.")
    table.repeatable("--renewer-principal", "Who may renew and end the token besides its owner, as User:name.")
    table.option("--max-life-time-period", "How long it can be renewed, in ms; -1: as long as the broker permits.",
                 metavar="Long", kind=int)  # fmt: skip
    table.option("--hmac", "The token's HMAC, in base64.")
    table.option("--renew-time-period", "How long it is then valid from now on, in ms; -1: the broker's setting.",
                 metavar="Long", kind=int)  # fmt: skip
    table.option("--expiry-time-period", "How long it is still valid from now on, in ms; -1: it ends at once.",
                 metavar="Long", kind=int)  # fmt: skip
    table.repeatable("--owner-principal", "Only tokens of this owner or renewer, as User:name.")
    output_option(table)
    return table


def check(options: argparse.Namespace) -> str:
    """The action. Raises UsageError for the first rule that is broken."""
    actions = [action for action in ACTIONS if getattr(options, action)]
    if len(actions) != 1:
        raise UsageError("Command must include exactly one action: --create, --renew, --expire or --describe")
    require(options, "bootstrap-server", "command-config", *NEEDED[actions[0]])
    forbid_together(options, actions[0], *FORBIDDEN[actions[0]])
    return actions[0]


def principals(texts: Iterable[str] | None) -> list[Principal]:
    """Raises ValueError."""
    return [Principal.parse(text.strip()) for text in texts or ()]


def hmac_in(text: str) -> bytes:
    """Padding may be left out. Raises ValueError."""
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"the HMAC is not base64: {text}") from None


def listed(those: Iterable[Principal]) -> str:
    """As Java shows a list."""
    return f"[{', '.join(map(str, those))}]"


def table_of(tokens: Iterable[DelegationToken]) -> Iterator[str]:
    """The table in parts; nothing ends the heading before the first row."""
    date = DatePattern(_DATE)
    yield "\n" + _ROW % _COLUMNS
    for token in tokens:
        times = map(date.format_ms, (token.issued_ms, token.expires_ms, token.max_ms))
        yield "\n" + _ROW % (token.token_id, token.password, token.owner, listed(token.renewers), *times) + "\n"


def documents(tokens: Iterable[DelegationToken]) -> list[dict[str, Any]]:
    """For --output: an object for each token; times in ms, UTC."""
    return [
        {
            "token_id": token.token_id,
            "hmac": token.password,
            "owner": str(token.owner),
            "renewers": [str(each) for each in token.renewers],
            "issued_ms": token.issued_ms,
            "expires_ms": token.expires_ms,
            "max_ms": token.max_ms,
        }
        for token in tokens
    ]


def create(admin: AdminClient, options: argparse.Namespace) -> None:
    renewers, lifetime_ms = principals(options.renewer_principal), options.max_life_time_period
    print(f"Calling create token operation with renewers :{listed(renewers)} , max-life-time-period :{lifetime_ms}")
    token = admin.create_delegation_token(renewers, max_lifetime_ms=lifetime_ms)
    print(f"Created delegation token with tokenId : {token.token_id}")
    print(*table_of([token]), sep="", end="", flush=True)


def renew(admin: AdminClient, options: argparse.Namespace) -> None:
    print(f"Calling renew token operation with hmac :{options.hmac} , renew-time-period :{options.renew_time_period}")
    ends_ms = admin.renew_delegation_token(hmac_in(options.hmac), period_ms=options.renew_time_period)
    print(f"Completed renew operation. New expiry date : {DatePattern(_DATE).format_ms(ends_ms)}", flush=True)


def expire(admin: AdminClient, options: argparse.Namespace) -> None:
    period_ms = options.expiry_time_period
    print(f"Calling expire token operation with hmac :{options.hmac} , expire-time-period : {period_ms}")
    ends_ms = admin.expire_delegation_token(hmac_in(options.hmac), period_ms=period_ms)
    print(f"Completed expire operation. New expiry date : {DatePattern(_DATE).format_ms(ends_ms)}", flush=True)


def describe(admin: AdminClient, options: argparse.Namespace) -> None:
    owners = None if options.owner_principal is None else principals(options.owner_principal)
    if options.output is not None:
        print_document(documents(admin.describe_delegation_token(owners)), options.output)
        return
    whose = "for current user." if owners is None else f"for owners :{listed(owners)}"
    print(f"Calling describe token operation {whose}")
    tokens = admin.describe_delegation_token(owners)
    print(f"Total number of tokens : {len(tokens)}")
    print(*table_of(tokens), sep="", end="", flush=True)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    action = check(options)
    log_warnings()
    from kafka_py.clients.admin.client import AdminClient

    act = {"create": create, "renew": renew, "expire": expire, "describe": describe}[action]
    with AdminClient(admin_properties(options)) as admin:
        try:
            act(admin, options)
        except (KafkaError, ValueError) as error:
            text = classic_text(error) if isinstance(error, KafkaError) else str(error)
            print(f"Error while executing delegation token command : {text}", flush=True)
            return 1
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
