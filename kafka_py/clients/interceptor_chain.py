"""The chain of interceptors of producers and consumers: their exceptions are logged and not passed on (KIP-42).

Knows nothing of records. Base classes for applications are in producer/interceptors.py and consumer/interceptors.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_log = logging.getLogger(__name__)

SETTING = "interceptor.classes"

T = TypeVar("T")


class InterceptorChain:
    """The interceptors of one client, in the order of the setting."""

    def __init__(self, interceptors: Iterable[Any]) -> None:
        self._chain = list(interceptors)

    def __bool__(self) -> bool:
        return bool(self._chain)

    def _changed(self, method: str, value: T, accept: Callable[[Any], T], about: str = "") -> T:
        """The value as changed by all interceptors; one that fails is skipped."""
        for interceptor in self._chain:
            try:
                value = accept(getattr(interceptor, method)(value))
            except Exception:
                _log_failure(interceptor, method, about)
        return value

    def _tell(self, method: str, *arguments: object) -> None:
        """Calls the method of all interceptors that have it."""
        for interceptor in self._chain:
            try:
                getattr(interceptor, method, _nothing)(*arguments)
            except Exception:
                _log_failure(interceptor, method)

    def close(self) -> None:
        """Closes all interceptors that have `close`."""
        self._tell("close")


def _log_failure(interceptor: object, method: str, about: str = "") -> None:
    _log.warning("%s.%s failed%s", type(interceptor).__name__, method, about, exc_info=True)


def _nothing(*_arguments: object) -> None:
    pass
