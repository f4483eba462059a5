"""The C library's switch, where there is one."""

import ctypes

import pytest

from kafka_py.net.memory import keep_freed_memory


def test_it_can_be_switched_on_twice() -> None:
    assert keep_freed_memory() is keep_freed_memory()


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    assert keep_freed_memory() is False
