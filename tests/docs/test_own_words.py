"""Our sentences are our own, but for those that tools, scripts and clients match: these are in one list, with reasons.

Compares the string constants of the package, and the lines of bin/ and config/, with the string constants of Apache
Kafka 2.8.2's jars, by runs of seven words. `apache_runs.bin` holds the digests of all runs in the jars; where the jars
are at hand, the file is compared with them. To write it again: python tests/docs/test_own_words.py
"""

from functools import cache
from pathlib import Path

import pytest
from apache_sentences import REASONS

from kafka_py.testing.peers import apache
from kafka_py.testing.peers.java_strings import strings_of_class, strings_of_jar
from kafka_py.testing.shared_words import (
    Sentence,
    digests_of,
    digests_of_all,
    pack,
    sentences_of_lines,
    sentences_of_python,
    shared,
    unpack,
)

ROOT = Path(__file__).resolve().parents[2]
DIGESTS = Path(__file__).with_name("apache_runs.bin")


def ours() -> list[Sentence]:
    return [
        *sentences_of_python(ROOT, "kafka_py"),
        *sentences_of_lines(ROOT, "bin"),
        *sentences_of_lines(ROOT, "config"),
    ]


@cache
def found() -> list[Sentence]:
    return shared(ours(), unpack(DIGESTS.read_bytes()))


def is_listed(sentence: Sentence) -> bool:
    return any(sentence.text.strip().startswith(begin) for begins in REASONS.values() for begin in begins)


def test_every_sentence_that_is_apaches_is_in_the_list_with_its_reason() -> None:
    strange = [each for each in found() if not is_listed(each)]
    assert strange == [], "reword these, or give the reason why not in tests/docs/apache_sentences.py"


def test_the_list_has_no_sentence_that_is_gone() -> None:
    texts = [each.text.strip() for each in found()]
    gone = [begin for begins in REASONS.values() for begin in begins if not any(map(begin.__eq__, texts))
            and not any(text.startswith(begin) for text in texts)]  # fmt: skip
    assert gone == []


def test_the_digests_are_those_of_the_jars() -> None:
    try:
        jars = apache.apache_kafka()
    except apache.Unavailable as why:
        pytest.skip(str(why))
    assert unpack(DIGESTS.read_bytes()) == digests_of_jars(jars.directory)


def digests_of_jars(directory: Path) -> set[bytes]:
    """Of Apache Kafka's own jars, not of the libraries beside them."""
    return digests_of_all(text for jar in sorted(directory.glob("kafka*.jar")) for text in strings_of_jar(jar))


def test_a_run_is_found_whatever_stands_around_it() -> None:
    theirs = digests_of_all(["Topic {} is marked for deletion: this will have no impact if it is not enabled"])
    same = Sentence("a", 1, "NOTE: this will have no impact if it is not.")
    other = Sentence("a", 2, "this will have no impact %s if it is not enabled")
    assert shared([same, other], theirs) == [same]
    assert list(digests_of("six words are not a run")) == []
    assert unpack(pack(theirs)) == theirs


def test_what_is_no_class_file_has_no_strings() -> None:
    with pytest.raises(ValueError, match="not a class file"):
        strings_of_class(b"\x00" * 32)


if __name__ == "__main__":
    DIGESTS.write_bytes(pack(digests_of_jars(apache.apache_kafka().directory)))
