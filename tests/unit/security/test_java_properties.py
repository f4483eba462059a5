"""-Dname=value in KAFKA_OPTS."""

import pytest

from kafka_py.security.java_properties import java_properties


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("", {}),
        ("-Xmx1g -Da=1 -Db.c='x y' -Dflag", {"a": "1", "b.c": "x y", "flag": ""}),
        ("-Da=1 -Da=2=3", {"a": "2=3"}),
        ("-Da='not closed", {"a": "'not"}),
    ],
)
def test_properties_are_those_that_java_would_see(options, found):
    assert java_properties({"KAFKA_OPTS": options, "OTHER": "-Dx=1"}) == found


def test_without_the_variable_there_are_none():
    assert java_properties({}) == {}
