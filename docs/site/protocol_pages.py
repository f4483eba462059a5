"""The pages of errors and APIs, made of the tables of the code."""

import csv
import inspect
from pathlib import Path

from page_text import cell, code, page, table

from kafka_py.base.errors import Action, ErrorCode
from kafka_py.wire.apis import APIS, Api, ApiKey

REFERENCE = Path(__file__).parents[1] / "reference"
WHAT_NEXT = {
    Action.NOTHING: "",
    Action.FAIL: "fails",
    Action.RETRY: "tries again",
    Action.REFRESH_METADATA: "fetches metadata and tries again",
    Action.FIND_COORDINATOR: "looks for the coordinator and tries again",
}


def rows_of(file: str) -> list[dict[str, str]]:
    """The rows of a table in docs/reference/."""
    with (REFERENCE / file).open(newline="") as opened:
        return list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))


def column(file: str, name: str) -> set[str]:
    """The values of a column."""
    return {row[name] for row in rows_of(file)}


def error_page() -> str:
    later = column("later-errors.tsv", "code")
    rows = []
    for error in ErrorCode:
        meaning = f"{error.meaning}; of a later release" if str(error.value) in later else error.meaning
        rows.append((str(error.value), code(error.name), WHAT_NEXT[error.action], cell(meaning)))
    return page(
        "Errors",
        "Every error code of the protocol, and what a client does by itself when it gets one. In Python an error is a "
        "`KafkaError` with this `code`; `retriable` is true where the client tries again.",
        table(("code", "name", "a client", "what happened"), rows),
    )


def purpose(api: Api) -> str:
    """What the docstring of the request says."""
    return (inspect.getdoc(api.request) or "").partition("\n\n")[0]


def size(bytes_: int | None) -> str:
    """The largest request of an API."""
    if bytes_ is None:
        return "`socket.request.max.bytes`"
    return f"{bytes_ >> 20} MiB" if bytes_ >= 1 << 20 else f"{bytes_ >> 10} KiB"


def lateness(api: Api) -> str:
    """What of an API came with a later release than 2.8.2."""
    before = {row["key"]: int(row["max"]) for row in rows_of("apis.tsv")}
    key = str(int(api.key))
    if key not in column("later-apis.tsv", "key"):
        return ""
    if key not in before:
        return " **Of a later release than 2.8.2.**"
    return f" **From version {before[key] + 1} on of a later release than 2.8.2.**"


def api_page() -> str:
    rows = []
    for api in APIS.values():
        versions = f"{api.min_version} to {api.max_version}" if api.max_version else "0"
        about = cell(purpose(api))
        about += " Between brokers." if api.brokers_only else ""
        about += lateness(api)
        flexible = "" if api.flexible_from is None else str(api.flexible_from)
        bounds = (size(api.request_bytes), f"{api.elements:,}")
        rows.append((str(int(api.key)), code(api.name), versions, flexible, *bounds, about))
    absent = [key for key in ApiKey if key not in APIS]
    return page(
        "APIs",
        f"The {len(rows)} requests that a broker answers, in all versions of Apache Kafka 2.8.2 in ZooKeeper mode.",
        table(("key", "name", "versions", "compact from", "largest request", "elements", "what it is"), rows),
        "*Compact from*: the first version with compact lengths and tagged fields (KIP-482). *Elements*: the most "
        "array elements in one request; see [operations](../operations.md#what-a-request-may-cost).",
        "## Not offered",
        "Requests that only KRaft uses; Apache Kafka 2.8.2 does not offer them in ZooKeeper mode either.",
        table(("key", "name"), [(str(int(key)), code(key.name)) for key in absent]),
    )
