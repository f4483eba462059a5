"""The matrix of ACLs, and changes of them."""

from collections.abc import Callable, Collection
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.results import Results
from kafka_py.manager.pages.security.acls import CellRow, acl_words, matrix_of
from kafka_py.security.acls.bindings import AclBinding, AclEntry, AclFilter, ResourcePattern
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.testing.web_manager import CalledManager

SCRIPT = "<script>alert(1)</script>"
ORDERS = ResourcePattern(ResourceType.TOPIC, "orders", PatternType.PREFIXED)
READ = AclEntry("User:alice", "*", Operation.READ, Permission.ALLOW)
WRITE = AclEntry("User:alice", "10.0.0.1", Operation.WRITE, Permission.DENY)
STRANGE = AclBinding(ResourcePattern(ResourceType.GROUP, SCRIPT), READ._replace(principal=f"User:{SCRIPT}"))


class AclAdmin:
    """Has two ACLs at first; notes what is added and removed."""

    def __init__(self) -> None:
        self.acls: list[AclBinding] = [AclBinding(ORDERS, READ), STRANGE]

    async def describe_acls(self) -> list[AclBinding]:
        return list(self.acls)

    async def create_acls(self, bindings: Collection[AclBinding]) -> Results[AclBinding, None]:
        self.acls += bindings
        return Results(dict.fromkeys(bindings))

    async def delete_acls(self, filters: Collection[AclFilter]) -> Results[AclFilter, list[AclBinding]]:
        removed = {each: [acl for acl in self.acls if each.matches(acl)] for each in filters}
        self.acls = [acl for acl in self.acls if not any(each.matches(acl) for each in filters)]
        return Results(removed)

    async def close(self) -> None: ...


def test_the_matrix_has_a_cell_for_every_resource_and_principal() -> None:
    bindings = [AclBinding(ORDERS, READ), AclBinding(ORDERS, WRITE), STRANGE]
    [first, second] = matrix_of([ORDERS, STRANGE.pattern], ["User:alice", f"User:{SCRIPT}"], bindings)
    assert first.cells == [CellRow(["Read"], ["Write from 10.0.0.1"]), CellRow([], [])]
    assert second.cells == [CellRow([], []), CellRow(["Read"], [])]


def test_the_command_names_principal_host_operations_and_resource() -> None:
    assert acl_words("--add", ORDERS, [READ, READ._replace(operation=Operation.DESCRIBE)]) == [
        "--add", "--allow-principal", "User:alice", "--allow-host", "*", "--operation", "Read",
        "--operation", "Describe", "--topic", "orders", "--resource-pattern-type", "prefixed",
    ]  # fmt: skip
    cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
    assert acl_words("--remove", cluster, [WRITE]) == [
        "--remove", "--deny-principal", "User:alice", "--deny-host", "10.0.0.1", "--operation", "Write",
        "--cluster", "--force",
    ]  # fmt: skip


def test_acls_are_shown_added_and_removed(played: Callable[..., None]) -> None:
    admin = AclAdmin()
    fields = {"type": "Topic", "name": "orders", "principal": "User:bob", "permission": "Deny", "pattern": "Literal"}

    async def scene(manager: CalledManager) -> None:
        page = await manager.get("/clusters/test/acls")
        assert page.status_code == 200 and SCRIPT not in page.text
        shown = await manager.submit("/clusters/test/acls/create", operation=["Read", "Write"], **fields)
        assert "--deny-principal User:bob" in shown.text and len(admin.acls) == 2
        made = await manager.submit(
            "/clusters/test/acls/create", operation=["Read", "Write"], step="apply", submission="1", **fields
        )
        assert made.status_code == 303 and len(admin.acls) == 4
        gone = await manager.call("/clusters/test/acls/delete", operation="Read", host="*", **fields)
        assert gone.json()["message"] == "The ACL was removed." and len(admin.acls) == 3
        found = (await manager.get("/api/clusters/test/acls?search=bob")).json()
        assert [rule["operation"] for rule in found["rules"]] == ["Write"]

    played(scene, admin=admin, allow_changes=True)


def test_an_acl_whose_names_have_blanks_is_removed_and_not_another(played: Callable[..., None]) -> None:
    admin = AclAdmin()
    like = ResourcePattern(ResourceType.GROUP, "readers")
    admin.acls = [
        AclBinding(like._replace(name=group), READ._replace(principal=user, host=host))
        for group, user, host in (("readers", "User:bob", "*"), ("readers ", "User:bob ", "* "))
    ]

    async def scene(manager: CalledManager) -> None:
        await manager.call("/clusters/test/acls/delete", type="Group", name="readers ", principal="User:bob ",
                           host="* ", operation="Read", permission="Allow")  # fmt: skip
        assert [each.pattern.name for each in admin.acls] == ["readers"]

    played(scene, admin=admin, allow_changes=True)


def test_acls_that_cannot_be_are_refused(played: Callable[..., None]) -> None:
    fields: dict[str, Any] = {"type": "Topic", "name": "t", "principal": "User:bob", "operation": "Read"}
    wrong = ({"type": "Any"}, {"name": ""}, {"principal": "bob"}, {"operation": "ClusterAction"}, {"operation": "x"},
             {"pattern": "Match"}, {"permission": "Any"})  # fmt: skip

    async def scene(manager: CalledManager) -> None:
        for change in wrong:
            answer = await manager.call("/clusters/test/acls/create", **{**fields, **change})
            assert answer.status_code == 400, change

    played(scene, admin=AclAdmin(), allow_changes=True)


def test_a_cluster_without_an_authorizer_says_why(played: Callable[..., None]) -> None:
    class WithoutAuthorizer(AclAdmin):
        async def describe_acls(self) -> list[AclBinding]:
            raise KafkaError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker.")

    async def scene(manager: CalledManager) -> None:
        page = await manager.get("/clusters/test/acls")
        assert page.status_code == 200 and "No Authorizer is configured" in page.text

    played(scene, admin=WithoutAuthorizer())


def test_readers_change_nothing(played: Callable[..., None]) -> None:
    admin = AclAdmin()

    async def scene(manager: CalledManager) -> None:
        page = await manager.get("/clusters/test/acls")
        assert "Add rules" not in page.text and "Remove" not in page.text
        answer = await manager.call("/clusters/test/acls/create", type="Topic", name="t", principal="User:bob")
        assert answer.status_code == 403

    played(scene, admin=admin)
