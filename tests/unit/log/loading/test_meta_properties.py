"""meta.properties and the rules for broker.id (W6.18 and W6.19)."""

import pytest

from kafka_py.log.loading.meta_properties import (
    InconsistentBrokerId,
    InconsistentClusterId,
    InconsistentMetadata,
    MetaProperties,
    agreed,
    check_cluster_id,
    choose_broker_id,
    format_meta_properties,
    parse_meta_properties,
    read_meta_properties,
    write_meta_properties,
)
from kafka_py.testing.fakes.files import FakeFiles


def test_the_file_is_a_java_property_file_with_a_dated_comment():
    text = format_meta_properties(MetaProperties(5, "64PniqfkRHa4ASfUisNXrw"), 1_600_000_000_000).decode()
    assert text.splitlines()[:2] == ["#", "#Sun Sep 13 12:26:40 UTC 2020"]
    assert sorted(text.splitlines()[2:]) == ["broker.id=5", "cluster.id=64PniqfkRHa4ASfUisNXrw", "version=0"]


def test_what_is_written_is_read_back():
    files = FakeFiles()
    assert read_meta_properties(files, "/meta.properties") is None
    write_meta_properties(files, "/meta.properties", MetaProperties(1001, "c"), 0)
    assert read_meta_properties(files, "/meta.properties") == MetaProperties(1001, "c")


def test_a_missing_version_reads_as_zero_and_kraft_is_refused():
    assert parse_meta_properties("broker.id=3\n", "/x") == MetaProperties(3, None)
    with pytest.raises(InconsistentMetadata, match="version 1"):
        parse_meta_properties("version=1\nnode.id=3\n", "/x")
    with pytest.raises(InconsistentMetadata, match="not a number"):
        parse_meta_properties("version=0\nbroker.id=three\n", "/x")


def test_directories_without_the_file_agree_with_those_that_have_it():
    meta = MetaProperties(3, "c")
    assert agreed({}) == MetaProperties()
    assert agreed({"/a": None, "/b": None}) == MetaProperties()
    assert agreed({"/a": None, "/b": meta, "/c": meta}) == meta


def test_w6_19_two_roots_with_different_ids_are_refused():
    with pytest.raises(InconsistentBrokerId, match=r"/a.*3.*/b.*4"):
        agreed({"/a": MetaProperties(3, "c"), "/b": MetaProperties(4, "c")})
    with pytest.raises(InconsistentMetadata):
        agreed({"/a": MetaProperties(3, "c"), "/b": MetaProperties(3, "d")})


def test_w6_19_a_changed_configured_id_is_refused():
    with pytest.raises(InconsistentBrokerId, match=r"1.*0"):
        choose_broker_id(1, 0, generation_enabled=True)


@pytest.mark.parametrize(
    ("configured", "stored", "chosen"), [(5, None, 5), (5, 5, 5), (-1, 5, 5), (0, None, 0), (-1, 0, 0)]
)
def test_the_id_comes_from_the_file_or_the_configuration(configured, stored, chosen):
    assert choose_broker_id(configured, stored, generation_enabled=True) == chosen


def test_w6_18_without_any_id_one_is_generated_unless_that_is_switched_off():
    assert choose_broker_id(-1, None, generation_enabled=True) is None
    with pytest.raises(InconsistentBrokerId, match="generation"):
        choose_broker_id(-1, None, generation_enabled=False)


def test_another_cluster_is_refused():
    check_cluster_id(None, "c")
    check_cluster_id("c", "c")
    with pytest.raises(InconsistentClusterId, match=r"old.*new"):
        check_cluster_id("old", "new")
