"""Values of settings that are kept elsewhere: directories with other files, and a user's own providers."""

import os
import re
import sys
import time
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.base.errors import ConfigError
from kafka_py.security.config_providers import _replaced, resolved

DIRECTORY = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"


def through(wanted: str, **settings: str) -> dict[str, Any]:
    """The settings, with a provider `p`; dots for underscores."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    found = resolved({"config.providers": "p", "config.providers.p.class": wanted, **given})
    return {name: found[name] for name in given}


def test_a_file_that_nothing_refers_to_is_not_read(tmp_path: Path) -> None:
    """As in a mounted secret that has a key store beside its password."""
    (tmp_path / "password").write_text("hush\n")
    (tmp_path / "store.p12").write_bytes(b"\x30\x82\xff\xfe")
    assert through(DIRECTORY, a=f"${{p:{tmp_path}:password}}") == {"a": "hush\n"}
    with pytest.raises(ConfigError, match=r"Could not read file .*store\.p12 for property store\.p12"):
        through(DIRECTORY, a=f"${{p:{tmp_path}:store.p12}}")


def test_only_files_of_the_directory_itself_are_given(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "secret").write_text("s")
    (tmp_path / "outside").write_text("o")
    os.symlink(tmp_path / "outside", tmp_path / "inner" / "linked")
    folder = tmp_path / "inner"
    for key in ("../outside", f"{tmp_path}/outside", ".", "missing"):
        text = f"${{p:{folder}:{key}}}"
        assert through(DIRECTORY, a=text) == {"a": text}
    assert through(DIRECTORY, a=f"${{p:{folder}:secret}}-${{p:{folder}:linked}}") == {"a": "s-o"}


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    asked: list[str] = []

    class Own:
        def configure(self, given: Mapping[str, str]) -> None:
            self.given = given

        def get(self, path: str) -> Mapping[str, Any]:
            asked.append(path)
            if path == "fails":
                raise RuntimeError("hush: the vault said no")
            return {"number": 5, "name": self.given["name"]}

    class Unready(Own):
        def configure(self, given: Mapping[str, str]) -> None:
            raise KeyError("vault.address")

    module = types.ModuleType("own_providers")
    module.asked = asked  # type: ignore[attr-defined]
    module.Own, module.Unready, module.Without = Own, Unready, type("Without", (), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_providers", module)
    return module


def test_a_provider_of_ones_own_gets_its_parameters(own: types.ModuleType) -> None:
    found = through("own_providers.Own", config_providers_p_param_name="n", a="${p:x:name}", b="${p:number}:1")
    assert (found["a"], found["b"]) == ("n", "5:1")


@pytest.mark.parametrize("text", ["${" + ":" * 200_000, "${" * 200_000, "${p:" * 100_000 + "}", "${x}" * 100_000])
def test_a_long_text_without_references_takes_no_time(own: types.ModuleType, text: str) -> None:
    """A client that may change settings may write it into a password."""
    begun = time.process_time()
    assert through("own_providers.Own", config_providers_p_param_name="n", a=text) == {
        "a": text, "config.providers.p.param.name": "n",
    }  # fmt: skip
    assert time.process_time() - begun < 2


@given(st.text("${}:xp", max_size=30))
def test_references_are_found_as_javas_pattern_finds_them(text: str) -> None:
    pattern = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
    expected = pattern.sub(lambda found: repr((found[0], found[1], found[3] or "", found[4])), text)
    assert _replaced(text, lambda *found: repr(found)) == expected


def test_a_path_is_asked_for_once(own: types.ModuleType) -> None:
    """It may be a request to a server of secrets."""
    through("own_providers.Own", config_providers_p_param_name="n", a="${p:x:name}${p:x:number}", b="${p:x:name}")
    assert own.asked == ["x"]


def test_without_a_path_no_file_of_the_current_folder_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("hush")
    monkeypatch.chdir(tmp_path)
    assert through(DIRECTORY, a="${p:key}", b="${p::key}") == {"a": "${p:key}", "b": "${p::key}"}


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("own_providers.Unready", r"config\.providers\.p\.class: it cannot be configured: KeyError: 'vault\.address'"),
        ("own_providers.Without", r"config\.providers\.p\.class: it has no method get"),
        ("own_providers.Missing", r"config\.providers\.p\.class: Class own_providers\.Missing could not be found"),
    ],
)
def test_a_provider_that_cannot_be_used_is_named(own: types.ModuleType, wanted: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        through(wanted, a="x")


def test_what_a_provider_raises_is_named_without_what_it_says(own: types.ModuleType) -> None:
    with pytest.raises(ConfigError, match=r"config\.providers\.p cannot give a value .*: RuntimeError$") as failed:
        through("own_providers.Own", a="${p:fails:x}")
    assert "hush" not in str(failed.value)
