"""kafka_py.wire.apis: the table of APIs agrees with the messages and with what a 2.8.2 broker advertises."""

import csv
from pathlib import Path

import pytest

from kafka_py.wire.apis import APIS, ENVELOPE, ApiKey, api_of
from kafka_py.wire.schema import schema_of

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "apis.tsv"


@pytest.mark.parametrize("api", [*APIS.values(), ENVELOPE], ids=lambda api: api.name)
def test_each_row_agrees_with_its_messages(api):
    for cls, kind in ((api.request, "request"), (api.response, "response")):
        schema = schema_of(cls)
        assert schema.name == f"{api.name}{kind.capitalize()}"
        assert (schema.api, schema.kind) == (api.key, kind)
        assert schema.versions == (api.min_version, api.max_version)
        assert schema.flexible == api.flexible_from
        assert api.request is api.request  # the same class every time
    assert api_of(api.key) is api


def test_the_table_is_what_a_broker_of_2_8_2_advertises():
    with REFERENCE.open(encoding="utf-8") as file:
        rows = {int(row["key"]): row for row in csv.DictReader(file, delimiter="\t")}
    assert {key.value for key in ApiKey} == rows.keys()
    assert {key for key, row in rows.items() if row["zk_mode_broker"] == "yes"} == APIS.keys()
    for key, api in APIS.items():
        row = rows[key]
        assert api.name == row["name"]
        assert (str(api.min_version), str(api.max_version)) == (row["min"], row["max"])
        assert str(api.flexible_from).lower() == row["flexible_from"]
        assert api.brokers_only == (row["cluster_action_flag"] == "true")


def test_apis_are_in_order_of_their_keys():
    assert list(APIS) == sorted(APIS)
    assert len(APIS) == 56


def test_which_versions_an_api_supports():
    api = APIS[ApiKey.FETCH]
    assert [v for v in range(-2, 20) if api.supports(v)] == list(range(13))
    assert repr(api) == "Api(Fetch, 0-12)"


@pytest.mark.parametrize("key", [ApiKey.VOTE, ApiKey.BROKER_HEARTBEAT, ApiKey.UNREGISTER_BROKER])
def test_kraft_apis_have_no_row(key):
    with pytest.raises(KeyError):
        api_of(key)
