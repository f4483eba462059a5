"""kafka-transactions.sh: its tables, which transactions hang, and what it refuses before it connects."""

from __future__ import annotations

import argparse
import json

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli import transactions
from kafka_py.cli.common.command import Refused
from kafka_py.cli.transactions import HeldTransaction, hanging
from kafka_py.clients.admin.transactions import ProducerDescription, TransactionDescription, TransactionListing

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SERVER = ["--bootstrap-server", "localhost:1"]


def producer(producer_id: int, start: int | None = 5) -> ProducerDescription:
    return ProducerDescription(producer_id, 2, 7, 1_000, -1, start)


def described(transactional_id: str, *partitions: TopicPartition, start_ms: int | None = 100) -> TransactionDescription:
    return TransactionDescription(transactional_id, 1, "Ongoing", 4000, 0, 60_000, start_ms, partitions)


def test_columns_are_as_wide_as_their_widest_value_and_end_with_a_tab() -> None:
    lines = list(transactions.table_lines(("Id", "State"), [("a", "Ongoing"), ("longer", "x")]))
    assert lines == ["Id    \tState  \t", "a     \tOngoing\t", "longer\tx      \t"]
    assert list(transactions.table_lines(("Id", "State"), [])) == ["Id\tState\t"]


def test_rows_have_the_values_in_the_order_of_the_columns() -> None:
    listed = {0: [TransactionListing("a", 1, "Empty")], 2: [TransactionListing("b", 3, "Ongoing")]}
    assert transactions.list_rows(listed) == [("a", 0, 1, "Empty"), ("b", 2, 3, "Ongoing")]
    row = (1, "id", 4000, 0, "Ongoing", 60_000, 100, 50, "t-0,t-1")
    assert transactions.describe_row(described("id", T0, T1), 150) == row
    assert transactions.describe_row(described("id", start_ms=None), 150)[6:] == ("None", "None", "")
    assert transactions.producer_row(producer(9)) == (9, 2, -1, 7, 1_000, 5)
    assert transactions.producer_row(producer(9, None))[-1] == "None"
    found = transactions.hanging_row(HeldTransaction(T1, producer(9)), 121_000)
    assert found == ("t", 1, 9, 2, -1, 5, 1_000, 2)


def test_a_transaction_hangs_that_no_coordinator_will_end() -> None:
    unknown, forgotten, elsewhere, open_here = (HeldTransaction(T0, producer(each)) for each in range(4))
    ids = {1: "forgotten", 2: "elsewhere", 3: "open"}
    known = {"elsewhere": described("elsewhere", T1), "open": described("open", T1, T0)}
    assert hanging([unknown, forgotten, elsewhere, open_here], ids, known) == [unknown, forgotten, elsewhere]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["abort", "--topic", "t", "--partition", "0"], "--start-offset"),
        (["abort", "--topic", "t", "--partition", "0", "--producer-id", "1"], "argument --producer-epoch"),
        (["abort", "--topic", "t", "--partition", "0", "--producer-id", "1", "--producer-epoch", "0"],
         "argument --coordinator-epoch"),
        (["find-hanging"], "--topic or --broker-id"),
        (["find-hanging", "--broker-id", "1", "--partition", "0"], "--partition needs --topic"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(Refused, match=message):
        transactions.main([*SERVER, *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "too few arguments"),
        (["list"], "--bootstrap-server"),
        (SERVER, "COMMAND"),
        ([*SERVER, "describe"], "--transactional-id"),
        ([*SERVER, "describe-producers", "--topic", "t"], "--partition"),
    ],
)
def test_wrong_usage_ends_with_1(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        transactions.main(arguments)
    assert ended.value.code == 1
    assert message in capsys.readouterr().err


def test_a_table_is_a_document_where_one_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[tuple[object, ...]]
    rows = [("a", 5, transactions.NONE)]
    transactions.show(argparse.Namespace(output="json"), ("Id", "Epoch", "Start"), rows)
    assert json.loads(capsys.readouterr().out) == [{"Id": "a", "Epoch": 5, "Start": None}]
    transactions.show(argparse.Namespace(output=None), ("Id", "Epoch", "Start"), rows)
    assert capsys.readouterr().out == "Id\tEpoch\tStart\t\na \t5    \tNone \t\n"
