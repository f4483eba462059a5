"""The login file that KAFKA_OPTS names."""

from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.login_file import login_sections

TEXT = 'Client { some.Module required username="a"; };'


@pytest.mark.parametrize("form", ["{}", "={}", "file:{}", "file://{}"])
def test_it_is_a_path_or_the_url_of_a_file_behind_one_or_two_equal_signs(form: str, tmp_path: Path) -> None:
    file = tmp_path / "jaas.conf"
    file.write_text(TEXT)
    sections = login_sections({"KAFKA_OPTS": f"-Djava.security.auth.login.config={form.format(file)}"})
    assert [entry.module for entry in sections["Client"]] == ["some.Module"]


def test_without_one_there_are_no_sections() -> None:
    assert login_sections({}) == login_sections({"KAFKA_OPTS": "-Djava.security.auth.login.config="}) == {}


def test_one_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ConfigError, match=r"Cannot read the login file /none/jaas\.conf"):
        login_sections({"KAFKA_OPTS": "-Djava.security.auth.login.config=/none/jaas.conf"})
