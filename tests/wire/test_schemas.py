"""Every declaration says the same as Kafka's own schema: fields, types, versions, nullability, tags, defaults.

Source: docs/reference/messages.tsv; docs/reference/later-messages.tsv.
"""

from kafka_py.wire.__main__ import describe, message_classes

from .schema_rows import COLUMNS, rows_of


def test_declarations_agree_with_kafkas_schemas(schema_table):
    ours = [row for cls in message_classes() for row in rows_of(describe(cls))]
    assert schema_table[0] == COLUMNS
    theirs = schema_table[1:]
    assert len({row[0] for row in theirs}) == 129
    assert sorted(set(theirs) - set(ours)) == []
    assert sorted(set(ours) - set(theirs)) == []
    assert len(ours) == len(theirs)


def test_a_changed_version_default_or_type_is_seen(schema_table):
    (first,) = [cls for cls in message_classes() if cls.__name__ == "HeartbeatRequest"]
    described = describe(first)
    before = rows_of(described)
    for change in ({"versions": "1+"}, {"type": "int64"}, {"default": "7"}, {"nullableVersions": "2+"}):
        field = {**described["fields"][1], **change}
        fields = [described["fields"][0], field, *described["fields"][2:]]
        assert rows_of({**described, "fields": fields}) != before
