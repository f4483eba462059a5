"""Plans of replacements: what is read, and what is refused with its place."""

from __future__ import annotations

import pytest

from kafka_py.operations.replacement.plan_file import BrokerCommands, MakeCommands, ReplacementRefused, parse_plan

APACHE = 'apache = { stop = "a", start = "b" }'
OURS = 'kafka_py = { stop = "c", start = "d", config = "/etc/server.properties" }'


def test_a_plan() -> None:
    made = parse_plan(f"[[broker]]\nid = 3\n{APACHE}\n{OURS}\n", "plan")
    assert made == [
        BrokerCommands(
            3, {"apache": MakeCommands("a", "b"), "kafka_py": MakeCommands("c", "d", "/etc/server.properties")}
        )
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[broker", "is not TOML"),
        ("", "has no [[broker]] table"),
        ("broker = 3", "has no [[broker]] table"),
        ("other = 1\n[[broker]]\nid = 1", "other is not known"),
        (f"[[broker]]\n{APACHE}\n{OURS}", "broker 1: id must be a broker's id, not None"),
        (f"[[broker]]\nid = true\n{APACHE}\n{OURS}", "id must be a broker's id"),
        (f"[[broker]]\nid = -1\n{APACHE}\n{OURS}", "id must be a broker's id, not -1"),
        (f"[[broker]]\nid = 1\n{APACHE}", "broker 1, kafka_py: needs"),
        (f'[[broker]]\nid = 1\n{OURS}\napache = {{ stop = "a" }}', "apache: start must be a command"),
        (f'[[broker]]\nid = 1\n{OURS}\napache = {{ stop = " ", start = "b" }}', "apache: stop must be a command"),
        (f'[[broker]]\nid = 1\n{OURS}\napache = {{ stop = "a", start = "b", pid = 1 }}', "pid is not known"),
        (f'[[broker]]\nid = 1\n{APACHE}\nkafka_py = {{ stop = "a", start = "b", config = 1 }}', "config must be"),
        (f"[[broker]]\nid = 1\n{APACHE}\n{OURS}\nhost = 1", "host is not known"),
        (f"[[broker]]\nid = 1\n{APACHE}\n{OURS}\n[[broker]]\nid = 1\n{APACHE}\n{OURS}", "several brokers with id = 1"),
    ],
)
def test_what_is_no_plan(text: str, told: str) -> None:
    with pytest.raises(ReplacementRefused) as caught:
        parse_plan(text, "plan.toml")
    assert told in str(caught.value)
    assert "plan.toml" in str(caught.value)
