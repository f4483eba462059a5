"""Classes of a user's own, named in settings."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.plugins import load_class, make_plugin


class Greeter:
    def __init__(self) -> None:
        self.configs: Mapping[str, Any] = {}

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.configs = configs

    def greet(self) -> str:
        return "hello"


class Demanding(Greeter):
    def __init__(self, name: str) -> None:
        super().__init__()


@pytest.mark.parametrize("wanted", [f"{__name__}.Greeter", Greeter, Greeter()])
def test_a_path_a_class_or_an_object_is_made_and_configured(wanted: Any) -> None:
    made = make_plugin("a.setting", wanted, ("greet",), {"x": 1})
    assert made.greet() == "hello"
    assert made.configs == {"x": 1}


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ("no.such.module.Class", "Class no.such.module.Class could not be found"),
        (f"{__name__}.Nothing", "could not be found"),
        ("bare", "Class bare could not be found"),
        (f"{__name__}.Demanding", "cannot be made"),
        (object(), "it has no method greet and no wave"),
        (Greeter, "it has no method wave"),
    ],
)
def test_what_cannot_be_used_is_said_with_the_setting(wanted: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"configuration a.setting: .*{problem}"):
        make_plugin("a.setting", wanted, ("greet", "wave"), {})


def test_a_class_is_loaded_as_it_is() -> None:
    assert load_class("s", "collections.OrderedDict").__name__ == "OrderedDict"
