"""Principals that an operator's class builds."""

import sys
import types
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.net.principal import Principal
from kafka_py.security.principal_builder import SETTING, Authenticated, load_builder

WHO = Authenticated("PLAINTEXT", "PLAINTEXT", "10.0.0.7", None, None)


def builder_of(monkeypatch: pytest.MonkeyPatch, result: object) -> Any:
    class Own:
        def configure(self, properties: dict[str, object]) -> None:
            self.suffix = str(properties["own.suffix"])

        def build(self, authenticated: Authenticated) -> object:
            if isinstance(result, Exception):
                raise result
            return f"{result}{self.suffix}" if isinstance(result, str) else result

    module = types.ModuleType("own_builder")
    module.Own = Own  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_builder", module)
    return load_builder(SETTING, "own_builder:Own", {"own.suffix": "!"})


def test_a_principal_or_its_text_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert builder_of(monkeypatch, "User:a:b")(WHO) == Principal("User", "a:b!")
    assert builder_of(monkeypatch, Principal("Group", "g"))(WHO) == Principal("Group", "g")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (ValueError("not from there"), "not from there"),
        (RuntimeError("a secret"), "principal.builder.class failed: RuntimeError"),
        (None, "returned no principal, but NoneType"),
        ("alice", "returned no principal, but str"),
        (":alice", "returned no principal, but str"),
    ],
)
def test_anything_else_refuses_the_connection(monkeypatch: pytest.MonkeyPatch, result: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        builder_of(monkeypatch, result)(WHO)


def test_a_class_without_build_is_refused() -> None:
    with pytest.raises(ConfigError, match="it has no method build"):
        load_builder(SETTING, "collections:OrderedDict", {})
