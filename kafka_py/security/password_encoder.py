"""Passwords in dynamic settings, encrypted as Apache Kafka 2.8.2 keeps them in ZooKeeper (KIP-226).

Layout: `name:value` pairs, comma-separated: the algorithms, salt, initialization vector, cipher text, and the length of
the password as a check. Either broker decrypts what the other wrote, for all parameters are in the text. The ciphers
are those of the package `cryptography`. Source: KIP-226; PasswordEncoder.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import importlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_py.base.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher

DEFAULT_KEY_FACTORY = "PBKDF2WithHmacSHA512"
_SALT_BYTES = 256
_TAG_BYTES = 16
_KEY_FACTORY = re.compile(r"PBKDF2With(?:Hmac)?(SHA(?:1|224|256|384|512))")
_MOST_ITERATIONS = 10_000_000
"""More would keep the broker busy for minutes; what says so is not one of the broker's own texts."""
_MOST_KEY_BITS = 1024
"""More than any cipher takes; a longer key would be derived all the same, for hours."""

RandomBytes = Callable[[int], bytes]


class EncoderSettings(NamedTuple):
    """How passwords are encrypted (password.encoder.*). Decryption goes by the text alone."""

    cipher: str = "AES/CBC/PKCS5Padding"
    key_factory: str = DEFAULT_KEY_FACTORY
    key_length: int = 128
    iterations: int = 4096


class PasswordEncoder:
    """Encrypts and decrypts with one secret. random_bytes: for salts and initialization vectors."""

    def __init__(self, secret: str, random_bytes: RandomBytes, settings: EncoderSettings | None = None) -> None:
        self._secret = secret.encode()
        self._random_bytes = random_bytes
        self._settings = settings or EncoderSettings()

    def encode(self, password: str) -> str:
        """The text to store, another one each time. Raises ConfigError for settings that cannot be used."""
        settings = self._settings
        salt = self._random_bytes(_SALT_BYTES)
        transformation = _Transformation.parse(settings.cipher)
        vector = self._random_bytes(transformation.vector_bytes)
        try:
            key = _derived(self._secret, salt, settings.iterations, settings.key_length, settings.key_factory)
            encrypted = transformation.encrypted(key, vector, password.encode())
        except ValueError:  # nothing of it is shown
            raise ConfigError(
                f"A password cannot be encrypted with {settings.cipher} (password.encoder.cipher.algorithm) and a key "
                f"of {settings.key_length} bits (password.encoder.key.length)"
            ) from None
        fields: dict[str, object] = {
            "keyFactoryAlgorithm": settings.key_factory,
            "cipherAlgorithm": settings.cipher,
            "keyLength": settings.key_length,
            "salt": _text(salt),
            "iterations": settings.iterations,
            "encryptedPassword": _text(encrypted),
            "passwordLength": _java_length(password),
            "initializationVector": _text(vector),
        }
        if transformation.mode == "GCM":
            fields["authenticationTagLength"] = _TAG_BYTES * 8
        return ",".join(f"{name}:{value}" for name, value in fields.items())

    def decode(self, encoded: str) -> str:
        """The password. Raises ConfigError, with nothing of the text, for another secret or a malformed text."""
        pairs = (pair.rpartition(":")[::2] for pair in encoded.split(","))
        fields = dict(pairs)
        try:
            password = self._decoded(fields)
            is_whole = _java_length(password) == int(fields["passwordLength"])
        except (KeyError, ValueError, binascii.Error):
            raise ConfigError("Password could not be decoded") from None
        if not is_whole:
            raise ConfigError("Password could not be decoded, sanity check of length failed")
        return password

    def _decoded(self, fields: Mapping[str, str]) -> str:
        """Raises KeyError, ValueError, ConfigError."""
        transformation = _Transformation.parse(fields["cipherAlgorithm"])
        iterations = int(fields["iterations"])
        if not 0 < iterations <= _MOST_ITERATIONS:
            raise ValueError(iterations)
        salt, vector, cipher_text = (_bytes(fields[name]) for name in (
            "salt", "initializationVector", "encryptedPassword",
        ))  # fmt: skip
        key = _derived(self._secret, salt, iterations, int(fields["keyLength"]), fields["keyFactoryAlgorithm"])
        return transformation.decrypted(key, vector, cipher_text).decode()


class _Transformation(NamedTuple):
    """A cipher as Java names it: `AES/CBC/PKCS5Padding`."""

    algorithm: str
    mode: str
    padding: str

    @classmethod
    def parse(cls, text: str) -> _Transformation:
        """Raises ConfigError."""
        parts = [part.upper() for part in text.split("/")]
        known = len(parts) == 3 and parts[0] in ("AES", "DESEDE") and parts[1] in ("CBC", "CFB", "OFB", "CTR", "GCM")
        if not known or parts[2] not in ("PKCS5PADDING", "NOPADDING") or parts[:2] == ["DESEDE", "GCM"]:
            raise ConfigError(
                f"Invalid value {text} for configuration password.encoder.cipher.algorithm: not available"
            )
        return cls(*parts)

    @property
    def block_bytes(self) -> int:
        return 16 if self.algorithm == "AES" else 8

    @property
    def vector_bytes(self) -> int:
        return 12 if self.mode == "GCM" else self.block_bytes

    def encrypted(self, key: bytes, vector: bytes, plain: bytes) -> bytes:
        if self.padding == "PKCS5PADDING" and self.mode != "GCM":
            missing = self.block_bytes - len(plain) % self.block_bytes
            plain += bytes([missing]) * missing
        encryptor = self._cipher(key, vector).encryptor()
        found: bytes = encryptor.update(plain) + encryptor.finalize()
        return found + getattr(encryptor, "tag", b"")

    def decrypted(self, key: bytes, vector: bytes, cipher_text: bytes) -> bytes:
        """Raises ValueError."""
        tag = None
        if self.mode == "GCM":
            cipher_text, tag = cipher_text[:-_TAG_BYTES], cipher_text[-_TAG_BYTES:]
        decryptor = self._cipher(key, vector, tag).decryptor()
        try:
            plain: bytes = decryptor.update(cipher_text) + decryptor.finalize()
        except Exception as error:  # of the library, for a wrong tag or size
            raise ValueError("not the cipher text of this key") from error
        if self.padding == "PKCS5PADDING" and self.mode != "GCM":
            count = plain[-1] if plain else 0
            if not 0 < count <= self.block_bytes or plain[-count:] != bytes([count]) * count:
                raise ValueError("not the cipher text of this key")
            plain = plain[:-count]
        return plain

    def _cipher(self, key: bytes, vector: bytes, tag: bytes | None = None) -> Cipher[Any]:
        """Raises ConfigError where the package is missing, ValueError for sizes that do not fit."""
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError:
            raise ConfigError(
                "passwords in ZooKeeper need the package cryptography, which is not installed"
            ) from None
        algorithm = algorithms.AES(key) if self.algorithm == "AES" else _moved("algorithms", "TripleDES")(key)
        if self.mode == "GCM":
            return Cipher(algorithm, modes.GCM(vector, tag))
        return Cipher(algorithm, _moved("modes", self.mode)(vector))


def _moved(module: str, name: str) -> Any:
    """What the package keeps among the ciphers, or, in later releases, among those that are out of use."""
    for place in ("decrepit", "primitives"):
        try:
            return getattr(importlib.import_module(f"cryptography.hazmat.{place}.ciphers.{module}"), name)
        except (ImportError, AttributeError):
            continue
    raise ConfigError(f"the package cryptography has no {name}")


def _derived(secret: bytes, salt: bytes, iterations: int, bits: int, key_factory: str) -> bytes:
    """Takes milliseconds. Raises ConfigError, ValueError."""
    found = _KEY_FACTORY.fullmatch(key_factory)
    if found is None:
        raise ConfigError(
            f"Invalid value {key_factory} for configuration password.encoder.keyfactory.algorithm: not available"
        )
    if not 0 < bits <= _MOST_KEY_BITS or bits % 8:
        raise ValueError("a key of a cipher has whole bytes, and few of them")
    return hashlib.pbkdf2_hmac(found[1].lower(), secret, salt, iterations, bits // 8)


def _java_length(text: str) -> int:
    """As Java counts characters: UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
