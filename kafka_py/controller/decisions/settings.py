"""The settings that decisions depend on."""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.controller.configs import ControllerOptions


class Settings(NamedTuple):
    """As they are when an event begins to be processed.

    control_listener: name of the listener on which brokers take the controller's requests.
    """

    options: ControllerOptions
    control_listener: str
