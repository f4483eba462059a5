"""Passwords among the dynamic settings of a broker: encrypted in ZooKeeper, plain in the broker alone (KIP-226).

A password may be a reference, `${file:/path:key}`, which is stored as it is, and looked up by each broker that uses it.
Only passwords are looked up: by any other setting a client that may change settings could have files shown to it.
Source: KIP-226, KIP-421; DynamicBrokerConfig (maybeCreatePasswordEncoder, maybeReEncodePasswords).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.security_configs import PasswordOptions
from kafka_py.broker.settings.setting_names import is_stored_password
from kafka_py.security.config_providers import PROVIDERS, resolved

if TYPE_CHECKING:
    from kafka_py.security.password_encoder import PasswordEncoder

_log = logging.getLogger(__name__)


class DynamicPasswords:
    """Encrypts and decrypts with the secret of the broker's property file. Settings without passwords cost nothing."""

    def __init__(self, config: BrokerConfig, chance: Chance) -> None:
        self._providers = {name: value for name, value in config.originals.items() if name.startswith(PROVIDERS)}
        self._encoder = password_encoder(config, chance)
        self._old_encoder = _encoder(config, config.password_encoder_old_secret, chance)

    async def decoded(self, overrides: Mapping[str, str]) -> dict[str, str]:
        """The overrides with plain passwords; those that cannot be decrypted are logged and left out."""

        def decode(name: str, text: str) -> str | None:
            if self._encoder is None:
                _log.error("The dynamic setting %s is ignored: password.encoder.secret is not set", name)
                return None
            try:
                return self._encoder.decode(text)
            except ConfigError as error:
                _log.error("The dynamic setting %s is ignored: %s", name, error.detail)
                return None

        return await _replaced(overrides, decode)

    async def encoded(
        self, wanted: Mapping[str, str], stored: Mapping[str, str], plain: Mapping[str, str]
    ) -> dict[str, str]:
        """The overrides to store. stored, plain: the present ones; what is unchanged keeps its text.

        Raises ConfigError without a secret.
        """

        def encode(name: str, password: str) -> str:
            if plain.get(name) == password:
                return stored[name]
            if self._encoder is None:
                raise ConfigError("Password encoder secret not configured")
            return self._encoder.encode(password)

        return await _replaced(wanted, encode)

    async def looked_up(self, plain: Mapping[str, str]) -> dict[str, str]:
        """The overrides with references replaced, by the providers of the property file. Raises ConfigError."""
        references = {name: text for name, text in plain.items() if is_stored_password(name) and "${" in text}
        if not references or not self._providers:
            return dict(plain)
        found = await asyncio.to_thread(resolved, {**self._providers, **references})
        return {**plain, **{name: found[name] for name in references}}

    async def found(self, plain: Mapping[str, str]) -> dict[str, str]:
        """As looked_up; those that cannot be looked up are logged and left out."""
        values = dict(plain)
        for name, text in plain.items():
            try:
                values.update(await self.looked_up({name: text}))
            except ConfigError as error:
                _log.error("The dynamic setting %s is ignored: %s", name, error.detail)
                del values[name]
        return values

    async def re_encoded(self, stored: Mapping[str, str]) -> dict[str, str] | None:
        """The overrides with the passwords that the old secret opens encrypted with the new one; None if none is."""
        old, new = self._old_encoder, self._encoder
        if old is None or new is None:
            return None

        def change(name: str, text: str) -> str:
            try:
                password = old.decode(text)
            except ConfigError:  # of the new secret already
                return text
            return new.encode(password)

        changed = await _replaced(stored, change)
        return None if changed == stored else changed


def password_encoder(config: PasswordOptions, chance: Chance) -> PasswordEncoder | None:
    """What encrypts with password.encoder.secret; None without it."""
    return _encoder(config, config.password_encoder_secret, chance)


def _encoder(config: PasswordOptions, secret: str | None, chance: Chance) -> PasswordEncoder | None:
    """None without a secret, which needs no cryptography."""
    if not secret:
        return None
    from kafka_py.security.password_encoder import DEFAULT_KEY_FACTORY, EncoderSettings, PasswordEncoder

    settings = EncoderSettings(
        config.password_encoder_cipher_algorithm,
        config.password_encoder_keyfactory_algorithm or DEFAULT_KEY_FACTORY,
        config.password_encoder_key_length,
        config.password_encoder_iterations,
    )

    def random_bytes(count: int) -> bytes:
        return chance.number(0, (1 << 8 * count) - 1).to_bytes(count, "big")

    return PasswordEncoder(secret, random_bytes, settings)


async def _replaced(
    overrides: Mapping[str, str], replace: Callable[[str, str], str | None]
) -> dict[str, str]:
    """The overrides with the passwords replaced, in a thread, for each takes milliseconds; None drops one."""
    names = [name for name in overrides if is_stored_password(name)]
    if not names:
        return dict(overrides)
    found = await asyncio.to_thread(lambda: {name: replace(name, overrides[name]) for name in names})
    replaced = {name: found.get(name, value) for name, value in overrides.items()}
    return {name: value for name, value in replaced.items() if value is not None}
