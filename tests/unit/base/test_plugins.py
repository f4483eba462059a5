"""Classes of a user's own, named in settings."""

from collections.abc import Mapping
from pathlib import Path
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


class Unready(Greeter):
    def configure(self, configs: Mapping[str, Any]) -> None:
        raise KeyError("own.setting\nmissing")


class Refusing(Greeter):
    def configure(self, configs: Mapping[str, Any]) -> None:
        raise ConfigError("own.setting: must be set")


class Broken(Greeter):
    def __init__(self) -> None:
        raise OSError("no file")


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


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (Unready, "cannot be configured: KeyError: 'own.setting.*missing'$"),
        (Unready(), "cannot be configured: KeyError"),
        (Refusing, "cannot be configured: own.setting: must be set$"),
        (Broken, "cannot be made: OSError: no file$"),
        ("unimportable_plugin.Greeter", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_what_a_class_raises_is_said_with_the_setting_on_one_line(
    wanted: Any, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unimportable_plugin.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=rf"configuration a\.setting: it {problem}") as failed:
        make_plugin("a.setting", wanted, ("greet",), {})
    assert "\n" not in failed.value.detail


def test_a_class_is_loaded_as_it_is() -> None:
    assert load_class("s", "collections.OrderedDict").__name__ == "OrderedDict"
