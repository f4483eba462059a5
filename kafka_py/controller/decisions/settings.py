"""The settings that decisions depend on."""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.controller.configs import ControllerOptions


class Settings(NamedTuple):
    """The settings at the time when the processing of an event begins.

    control_listener: name of the listener on which brokers receive the controller's requests.
    """

    options: ControllerOptions
    control_listener: str
