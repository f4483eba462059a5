"""Which login entry is whose; the grammar is tested by the golden samples."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.jaas import MalformedJaas, client_module, parse_login_file, parse_property, server_modules

FILE = """
// the brokers
KafkaServer {
    org.apache.kafka.common.security.plain.PlainLoginModule required username="b" password="file secret";
    org.apache.kafka.common.security.scram.ScramLoginModule required;
};
"external.KafkaServer" { M required; };
KafkaClient { M optional a=b; };
"""


def test_a_login_file_has_sections_of_entries() -> None:
    sections = parse_login_file(FILE)
    assert {name: len(entries) for name, entries in sections.items()} == {
        "KafkaServer": 2, "external.KafkaServer": 1, "KafkaClient": 1,
    }  # fmt: skip
    assert sections["KafkaServer"][0].options["password"] == "file secret"


@pytest.mark.parametrize("text", ["A { M required; }", "A M required;", "A { M required };", "A { }; A { };", '"A'])
def test_a_malformed_login_file_is_refused(text: str) -> None:
    with pytest.raises(MalformedJaas):
        parse_login_file(text)


def test_a_listener_takes_its_setting_then_its_section_then_that_of_all() -> None:
    sections = parse_login_file(FILE)
    properties = {"listener.name.external.plain.sasl.jaas.config": 'P required user_a="x";'}
    assert server_modules(properties, "EXTERNAL", "PLAIN", sections)[0].module == "P"
    assert server_modules(properties, "EXTERNAL", "SCRAM-SHA-256", sections)[0].module == "M"
    assert len(server_modules(properties, "INTERNAL", "PLAIN", sections)) == 2
    with pytest.raises(ConfigError, match=r"listener\.name\.internal\.plain\.sasl\.jaas\.config"):
        server_modules(properties, "INTERNAL", "PLAIN", {})


def test_a_client_takes_its_setting_then_the_section_of_clients() -> None:
    sections = parse_login_file(FILE)
    assert client_module("P required;", sections).module == "P"
    assert client_module(None, sections).options == {"a": "b"}
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config"):
        client_module(None, {})


def test_secrets_are_in_no_repr_and_in_no_error() -> None:
    assert "secret" not in repr(parse_login_file(FILE))
    for text in ('M required password="secret"', 'M required password="secret" x=1;', 'M required password="secret'):
        with pytest.raises(MalformedJaas) as failed:
            parse_property(text)
        assert "secret" not in str(failed.value)


def test_a_section_of_clients_has_one_module() -> None:
    sections = parse_login_file("KafkaClient { a required; b required; };")
    with pytest.raises(ConfigError, match="has 2 login modules, not one"):
        client_module(None, sections)


@pytest.mark.parametrize(("written", "value"), [("\\377", "\xff"), ("\\477", "\x277"), ("\\58", "\x058"), ("\\q", "q")])
def test_escapes_with_digits_are_those_of_java(written: str, value: str) -> None:
    assert parse_property(f'm required a="{written}";').options == {"a": value}
