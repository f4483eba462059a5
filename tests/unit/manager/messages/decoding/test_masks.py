"""Masking rules: what they hide stays hidden whichever decoder is asked for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.manager.messages.decoding.decoders import DECODERS, RecordDecoder
from kafka_py.manager.messages.decoding.masks import MASK, InvalidMask, masks_of
from kafka_py.manager.messages.message import NO_DOCUMENT, NULL_FIELD, MessageField, TopicMessage
from kafka_py.records.batch import TimestampType

RULES = masks_of([
    {"topics": "pay*", "value": "$..card", "keep_last": 4},
    {"topics": "pay*", "header": "Auth*"},
    {"topics": "users", "key": True},
    {"topics": "users", "value": "$"},
])
SECRET = "4111111111111111"


def masked(topic, key, value, headers=(), decoder=None):
    record = ConsumerRecord(topic, 0, 0, 0, TimestampType.CREATE_TIME, 0, 0, key, value, tuple(headers), 0)
    return RULES.applied((decoder or RecordDecoder()).decode(record))


def test_a_path_hides_what_it_leads_to_and_keeps_the_rest():
    value = json.dumps({"card": SECRET, "more": [{"card": 4111222233334444}], "amount": 5}).encode()
    message = masked("payments", b"k", value)
    assert message.value.document == {"card": f"{MASK}1111", "more": [{"card": f"{MASK}4444"}], "amount": 5}
    assert json.loads(message.value.text) == message.value.document
    assert message.value.size == len(value)


def test_topics_without_a_rule_are_left_alone():
    assert masked("orders", b"k", SECRET.encode()).value.text == SECRET


def test_headers_are_hidden_by_name_in_any_case():
    message = masked("pay", None, None, [("AUTHORIZATION", b"secret"), ("trace", b"on"), ("auth", None)])
    assert [header.field.text for header in message.headers] == [MASK, "on", ""]


def test_nothing_is_kept_of_a_text_that_is_cut():
    """Its last characters are from somewhere in the middle."""
    rules = masks_of([{"topics": "*", "value": True, "keep_last": 4}])
    long = MessageField("text", SECRET, 99, is_cut=True)
    message = rules.applied(TopicMessage("t", 0, 0, 0, "", NULL_FIELD, long))
    assert message.value.text == MASK
    assert rules.applied(message._replace(value=long._replace(is_cut=False))).value.text == f"{MASK}1111"


def test_whole_keys_and_values_are_hidden():
    message = masked("users", SECRET.encode(), b'{"a": 1}')
    assert (message.key.kind, message.key.text, message.key.document) == ("masked", MASK, NO_DOCUMENT)
    assert (message.value.text, message.value.document) == (MASK, NO_DOCUMENT)


def test_a_name_that_is_there_twice_hides_both():
    message = masked("pay", None, f'{{"card": "{SECRET}", "card": "x"}}'.encode())
    assert SECRET not in message.value.text
    message = masked("pay", None, f'{{"other": "{SECRET}", "other": "x"}}'.encode())
    assert message.value.text == '{"other": "x"}'


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize(
    "value",
    [
        json.dumps({"card": SECRET}).encode(),
        json.dumps({"card": SECRET, "pad": "x" * 300_000}).encode(),
        b'{"card": "' + SECRET.encode() + b'", broken',
        b"[" * 200 + b'{"card": "' + SECRET.encode() + b'"}' + b"]" * 200,
        b"\x00" + SECRET.encode(),
        b"\xff" + SECRET.encode(),
        SECRET.encode(),
    ],
)
def test_no_decoder_shows_what_a_path_hides(name, value):
    message = masked("pay", None, value, decoder=RecordDecoder(value_as=name))
    for part in (SECRET, SECRET.encode().hex()):
        assert part not in message.value.text
        assert part not in str(message.value.problem)


@given(st.text(min_size=5, max_size=8, alphabet="XYZW"), st.integers(0, 3), st.sampled_from(DECODERS))
def test_what_is_hidden_at_any_depth_is_nowhere(secret, depth, name):
    document: object = {"card": secret}
    for _ in range(depth):
        document = {"in": [document]}
    shown = masked("pay", None, json.dumps(document).encode(), decoder=RecordDecoder(value_as=name))
    assert secret not in shown.value.text


def test_a_short_text_keeps_nothing_of_itself():
    assert masked("pay", None, b'{"card": "1234567"}').value.document == {"card": MASK}
    assert masked("pay", None, b'{"card": {"number": "1234"}}').value.document == {"card": MASK}


@pytest.mark.parametrize(
    "text",
    [
        "[1]", '[{"value": true}]', '[{"topics": "t"}]', '[{"topics": "t", "key": true, "value": true}]',
        '[{"topics": "t", "value": false}]', '[{"topics": "t", "value": "$["}]', '[{"topics": "t", "header": ""}]',
        '[{"topics": "t", "key": true, "keep_last": -1}]', '[{"topics": "t", "key": true, "other": 1}]',
    ],
)  # fmt: skip
def test_rules_that_cannot_be_used_are_refused(text):
    with pytest.raises(InvalidMask):
        masks_of(json.loads(text))
