"""ACLs: a matrix of resources and principals, single rules, and their changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from kafka_py.manager.pages.commands import command
from kafka_py.manager.pages.security.partial import or_problem
from kafka_py.manager.web.answers import Effect, Page, PageList, PlannedChange, ProblemRow
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, changes, reads
from kafka_py.net.principal import Principal
from kafka_py.security.acls.bindings import AclBinding, AclEntry, AclFilter, EntryFilter, PatternFilter, ResourcePattern
from kafka_py.security.acls.vocabulary import (
    CLUSTER_NAME,
    OPERATIONS_OF,
    RESOURCE_TYPES,
    WILDCARD,
    AclWord,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

Word = TypeVar("Word", bound=AclWord)

MOST_PRINCIPALS = 20
"""Columns of the matrix; the search finds others."""
_OPTIONS = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.CLUSTER: "--cluster",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
}


class RuleRow(NamedTuple):
    """One ACL, in the words of kafka-acls.sh."""

    type: str
    name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


class CellRow(NamedTuple):
    """What the ACLs of one resource say of one principal."""

    allowed: list[str]
    denied: list[str]


class AclMatrixRow(NamedTuple):
    """One resource pattern. cells: one per principal of the page."""

    type: str
    name: str
    pattern: str
    cells: list[CellRow]


@dataclass(frozen=True, slots=True)
class AclsPage:
    """The ACLs of the resources that are shown. more_principals: how many have no column."""

    principals: list[str]
    more_principals: int
    matrix: list[AclMatrixRow]
    rules: list[RuleRow]
    search: str
    part: PageList
    types: list[str]
    operations: list[str]
    patterns: list[str]
    problems: list[ProblemRow] = field(default_factory=list)


def row_of(binding: AclBinding) -> RuleRow:
    """An ACL in words."""
    pattern, entry = binding
    return RuleRow(
        pattern.type.title, pattern.name, pattern.pattern_type.title,
        entry.principal, entry.host, entry.operation.title, entry.permission.title,
    )  # fmt: skip


def cell_of(entries: Sequence[AclEntry]) -> CellRow:
    """The operations, with the host where it is not any."""
    texts: dict[Permission, list[str]] = {Permission.ALLOW: [], Permission.DENY: []}
    for entry in entries:
        host = "" if entry.host == WILDCARD else f" from {entry.host}"
        texts.setdefault(entry.permission, []).append(f"{entry.operation.title}{host}")
    return CellRow(sorted(texts[Permission.ALLOW]), sorted(texts[Permission.DENY]))


def matrix_of(
    patterns: Sequence[ResourcePattern], principals: Sequence[str], bindings: Sequence[AclBinding]
) -> list[AclMatrixRow]:
    """One row per pattern with one cell per principal."""
    entries: dict[tuple[ResourcePattern, str], list[AclEntry]] = {}
    for pattern, entry in bindings:
        entries.setdefault((pattern, entry.principal), []).append(entry)
    return [
        AclMatrixRow(
            pattern.type.title, pattern.name, pattern.pattern_type.title,
            [cell_of(entries.get((pattern, principal), ())) for principal in principals],
        )
        for pattern in patterns
    ]  # fmt: skip


async def acls(request: PageRequest) -> Page:
    """The matrix and the rules."""
    problems: list[ProblemRow] = []
    none: list[AclBinding] = []
    found = await or_problem("the ACLs", request.cluster.admin.describe_acls(), none, problems)
    search = request.text("search", "")
    fitting = [each for each in found if search in each.entry.principal or search in each.pattern.name]
    patterns = sorted({each.pattern for each in fitting})
    shown = request.page_list(len(patterns))
    here = patterns[shown.start : shown.end]
    inside = [each for each in fitting if each.pattern in set(here)]
    principals = sorted({each.entry.principal for each in inside})
    columns = principals[:MOST_PRINCIPALS]
    model = AclsPage(
        columns, len(principals) - len(columns), matrix_of(here, columns, inside),
        [row_of(each) for each in sorted(inside)], search, shown, [each.title for each in RESOURCE_TYPES],
        [each.title for each in Operation if each > Operation.ANY], ["Literal", "Prefixed"], problems,
    )  # fmt: skip
    return Page("security/acls.html", model, "ACLs")


async def create(request: PageRequest) -> PlannedChange:
    """Adds one ACL per operation."""
    pattern = _pattern(request, request.text("name", ""))
    permission = _word(Permission, "permission", request.text("permission", "Allow"))
    operations = [_word(Operation, "operation", each) for each in request.many("operation")]
    if not operations:
        raise BadParameter("An ACL is about at least one operation")
    known = (*OPERATIONS_OF[pattern.type], Operation.ALL)
    for operation in operations:
        if operation not in known:
            raise BadParameter(f"{operation.title} is no operation on a {pattern.type.title}")
    entries = [AclEntry(_principal(request), request.text("host", "") or WILDCARD, each, permission)
               for each in operations]  # fmt: skip
    bindings = [AclBinding(pattern, entry) for entry in entries]
    admin = request.cluster.admin

    async def apply() -> str:
        (await admin.create_acls(bindings)).all()
        return f"{len(bindings)} ACLs were added." if len(bindings) > 1 else "The ACL was added."

    warnings = []
    if permission is Permission.DENY:
        warnings.append("A rule that denies wins over every rule that allows.")
    elif pattern.name == WILDCARD or entries[0].principal == "User:*":
        warnings.append("This is about every resource of the type, or every user.")
    return PlannedChange(
        f"{permission.title} {entries[0].principal} on {pattern.type.title} {pattern.name}",
        _command(request, "--add", pattern, entries), apply, _back(request),
        [Effect(entry.operation.title, "", f"{permission.title} from {entry.host}") for entry in entries], warnings,
    )  # fmt: skip


async def delete(request: PageRequest) -> PlannedChange:
    """Removes one ACL."""
    pattern = _pattern(request, request.exact("name", ""))
    operation = _word(Operation, "operation", request.text("operation"))
    permission = _word(Permission, "permission", request.text("permission"))
    entry = AclEntry(request.exact("principal"), request.exact("host"), operation, permission)
    wanted = AclFilter(PatternFilter(*pattern), EntryFilter(*entry))
    admin = request.cluster.admin

    async def apply() -> str:
        removed = (await admin.delete_acls([wanted])).value(wanted)
        return "The ACL was removed." if removed else "The ACL did not exist any longer."

    warnings = ["What it denied may be allowed now."] if permission is Permission.DENY else []
    return PlannedChange(
        f"Remove {permission.title} {operation.title} of {entry.principal} on {pattern.type.title} {pattern.name}",
        _command(request, "--remove", pattern, [entry]), apply, _back(request),
        [Effect(operation.title, f"{permission.title} from {entry.host}", "")], warnings, is_dangerous=True,
    )  # fmt: skip


def acl_words(action: str, pattern: ResourcePattern, entries: Sequence[AclEntry]) -> list[str]:
    """The words of kafka-acls.sh for entries of one principal, host and permission."""
    first = entries[0]
    kind = "allow" if first.permission is Permission.ALLOW else "deny"
    words = [action, f"--{kind}-principal", first.principal, f"--{kind}-host", first.host]
    for entry in entries:
        words += ["--operation", entry.operation.title]
    words.append(_OPTIONS[pattern.type])
    if pattern.type is not ResourceType.CLUSTER:
        words.append(pattern.name)
    if pattern.pattern_type is PatternType.PREFIXED:
        words += ["--resource-pattern-type", "prefixed"]
    return [*words, "--force"] if action == "--remove" else words


def _command(request: PageRequest, action: str, pattern: ResourcePattern, entries: Sequence[AclEntry]) -> str:
    return command(request.cluster, "kafka-acls.sh", *acl_words(action, pattern, entries))


def _pattern(request: PageRequest, given: str) -> ResourcePattern:
    kind = _word(ResourceType, "type", request.text("type"))
    if kind not in RESOURCE_TYPES:
        raise BadParameter(f"type is one of {', '.join(each.title for each in RESOURCE_TYPES)}")
    pattern = _word(PatternType, "pattern", request.text("pattern", "Literal"))
    if pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise BadParameter("pattern is Literal or Prefixed")
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else given
    if not name:
        raise BadParameter("The resource needs a name; * stands for every one")
    return ResourcePattern(kind, name, pattern)


def _principal(request: PageRequest) -> str:
    text = request.text("principal")
    try:
        Principal.parse(text)
    except ValueError as error:
        raise BadParameter(f"principal: {error}") from None
    return text


def _word(kind: type[Word], name: str, text: str) -> Word:
    found = kind.titled(text)
    if found is None or found.value <= 1:
        raise BadParameter(f"{name} cannot be {text[:100]!r}")
    return found


def _back(request: PageRequest) -> str:
    return f"/clusters/{part(request.cluster.name)}/acls"


_RULE = (
    RouteParameter("type", f"One of {', '.join(each.title for each in RESOURCE_TYPES)}.", is_required=True),
    RouteParameter("name", "Of the resource; * for every one; none for Cluster."),
    RouteParameter("pattern", "Literal or Prefixed."),
    RouteParameter("principal", "As User:alice; User:* for everyone.", is_required=True),
    RouteParameter("host", "An address; * for every one."),
    RouteParameter("permission", "Allow or Deny."),
)

ROUTES = (
    reads(
        f"{CLUSTER}/acls", acls, "The ACLs: resources, principals and what they may do.", AclsPage,
        RouteParameter("search", "Part of a principal or of the name of a resource."), *PAGING, menu="ACLs",
    ),
    changes(
        f"{CLUSTER}/acls/create", create, "Adds ACLs.", *_RULE,
        RouteParameter("operation", "What is allowed or denied.", is_required=True, is_list=True), under="ACLs",
    ),
    changes(
        f"{CLUSTER}/acls/delete", delete, "Removes an ACL.", *_RULE,
        RouteParameter("operation", "What was allowed or denied.", is_required=True), under="ACLs",
    ),
)  # fmt: skip
