"""Chance: repeated by a seed, foreseen by nobody without one."""

from kafka_py.base.chance import Chance
from kafka_py.base.ids import uuid_to_text


def drawn(chance):
    return (
        chance.new_uuid(),
        chance.new_topic_id(),
        chance.number(1, 1 << 30),
        [chance.generator().random() for _ in range(3)],
    )


def test_a_seed_repeats_all_that_is_drawn():
    assert drawn(Chance(7)) == drawn(Chance(7))
    assert drawn(Chance(7)) != drawn(Chance(8))


def test_without_a_seed_nothing_is_repeated():
    assert drawn(Chance()) != drawn(Chance())


def test_uuids_are_of_version_4():
    assert {(Chance(seed).new_uuid().version, Chance(seed).new_uuid().variant) for seed in range(20)} == {
        (4, "specified in RFC 4122")
    }


def test_topic_ids_never_look_like_an_option():
    chance = Chance(1)
    assert not any(uuid_to_text(chance.new_topic_id()).startswith("-") for _ in range(500))


def test_numbers_include_both_bounds():
    chance = Chance(1)
    assert {chance.number(1, 3) for _ in range(100)} == {1, 2, 3}


def test_a_generator_is_not_disturbed_by_what_others_draw():
    first, second = Chance(3), Chance(3)
    mine, same = first.generator(), second.generator()
    second.generator().random()
    second.new_uuid()
    assert [mine.random() for _ in range(5)] == [same.random() for _ in range(5)]
