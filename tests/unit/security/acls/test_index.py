"""What the index finds is what a look at all ACLs would find, whatever was put and removed before."""

import random

from kafka_py.security.acls.bindings import AclBinding, AclEntry, PatternFilter, ResourcePattern
from kafka_py.security.acls.index import NO_VERSION, AclIndex
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

WORDS = ["", "a", "ab", "abc", "b", "ba", "*", "kafka-cluster"]
TYPES = [ResourceType.TOPIC, ResourceType.GROUP]
PATTERN_TYPES = [PatternType.LITERAL, PatternType.PREFIXED]


def test_lookups_find_what_a_filter_finds() -> None:
    chance = random.Random(7)
    index, plain = AclIndex(), dict[ResourcePattern, tuple[AclEntry, ...]]()
    for step in range(2_000):
        pattern = ResourcePattern(chance.choice(TYPES), chance.choice(WORDS), chance.choice(PATTERN_TYPES))
        entries = tuple(dict.fromkeys(
            AclEntry(
                chance.choice(["User:a", "User:b", "User:*"]), chance.choice(["*", "1.1.1.1"]),
                chance.choice([Operation.READ, Operation.ALL]), chance.choice([Permission.ALLOW, Permission.DENY]),
            )
            for _ in range(chance.randrange(4))
        ))  # fmt: skip
        before = index.generation
        changed = entries != plain.get(pattern, ())
        index.put(pattern, entries, step)
        assert (index.generation > before) is changed
        plain[pattern] = entries
        resource_type, name = chance.choice(TYPES), chance.choice([*WORDS, "abcd"])
        wanted = PatternFilter(resource_type, name, PatternType.MATCH)
        expected = [plain[each] for each in plain if wanted.matches(each) and plain[each]]
        assert sorted(acls.entries for acls in index.applying(resource_type, name)) == sorted(expected)
        assert index.of(pattern).version == (step if entries else NO_VERSION)
        assert index.patterns_with("User:a", "2.2.2.2", Operation.READ, resource_type, Permission.DENY) == {
            each for each, those in plain.items() if each.type is resource_type and any(
                entry.principal in ("User:a", "User:*") and entry.host == "*" and entry.permission is Permission.DENY
                for entry in those
            )
        }  # fmt: skip
    assert set(index.bindings()) == {AclBinding(each, entry) for each, those in plain.items() for entry in those}
    assert len(index) == len(list(index.bindings()))
    for pattern in plain:
        index.put(pattern, (), NO_VERSION)
    assert (len(index), index.patterns(), index._patterns_of) == (0, [], {})
    assert all(not prefixes.lengths for prefixes in index._prefixes.values())
