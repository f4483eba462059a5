"""Stored passwords and config providers against samples that were made with the classes of Apache Kafka 2.8.2."""

import base64
import csv
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.setting_names import is_stored_password
from kafka_py.security.config_providers import resolved
from kafka_py.security.password_encoder import EncoderSettings, PasswordEncoder

TABLE = Path(__file__).parents[3] / "docs" / "reference" / "security" / "golden-secrets.tsv"


def samples(kind: str) -> pytest.MarkDecorator:
    """Parametrises a test with `given` and `expected`."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = [(json.loads(row["input"]), json.loads(row["output"])) for row in rows if row["kind"] == kind]
    assert found
    return pytest.mark.parametrize(("given", "expected"), found, ids=[str(number) for number in range(len(found))])


@samples("password_decode")
def test_stored_password(given: Any, expected: Any) -> None:
    pytest.importorskip("cryptography")
    encoder = PasswordEncoder(given["secret"], random.randbytes)
    if expected == {"error": "ConfigException"}:
        with pytest.raises(ConfigError):
            encoder.decode(given["encoded"])
    elif isinstance(expected, dict):  # a change of the configured cipher breaks stored values there, and not here
        assert given["decoder_cipher"] not in given["encoded"]
        assert encoder.decode(given["encoded"])
    else:
        assert encoder.decode(given["encoded"]) == expected


@pytest.mark.parametrize(
    "settings",
    [
        EncoderSettings(),
        EncoderSettings("AES/GCM/NoPadding", key_length=256),
        EncoderSettings("AES/CFB/PKCS5Padding", "PBKDF2WithHmacSHA1"),
        EncoderSettings("DESede/CBC/PKCS5Padding", key_length=192, iterations=1024),
    ],
)
def test_what_is_encoded_is_decoded_with_the_same_secret_only(settings: EncoderSettings) -> None:
    pytest.importorskip("cryptography")
    encoder = PasswordEncoder("secret", random.Random(1).randbytes, settings)
    for password in ("", "x", "päss € 😀", "M required a=\"b,c\";"):
        text = encoder.encode(password)
        assert encoder.decode(text) == password
        assert text != encoder.encode(password)
        with pytest.raises(ConfigError) as failed:
            PasswordEncoder("other", random.randbytes).decode(text)
        assert "could not be decoded" in failed.value.message


def changed(text: str, **fields: object) -> str:
    """An encoded password with other fields."""
    pairs = dict(pair.rpartition(":")[::2] for pair in text.split(","))
    return ",".join(f"{name}:{value}" for name, value in {**pairs, **fields}.items())


def test_salt_and_vector_are_new_each_time_and_as_long_as_java_s() -> None:
    pytest.importorskip("cryptography")
    for cipher, vector_bytes in (("AES/CBC/PKCS5Padding", 16), ("AES/GCM/NoPadding", 12)):
        encoder = PasswordEncoder("secret", random.randbytes, EncoderSettings(cipher))
        one, other = (
            dict(pair.rpartition(":")[::2] for pair in encoder.encode("hunter2").split(",")) for _ in range(2)
        )
        for name, size in (("salt", 256), ("initializationVector", vector_bytes)):
            assert one[name] != other[name] and len(base64.b64decode(one[name])) == size


def test_the_length_of_a_password_is_checked() -> None:
    pytest.importorskip("cryptography")
    encoder = PasswordEncoder("secret", random.randbytes)
    with pytest.raises(ConfigError, match="sanity check of length failed"):
        encoder.decode(changed(encoder.encode("hunter2"), passwordLength=8))


def test_every_byte_of_a_padding_is_checked() -> None:
    pytest.importorskip("cryptography")
    encoder = PasswordEncoder("secret", random.randbytes, EncoderSettings("AES/CBC/NoPadding"))
    for end, is_padding in (("\x03\x03\x03", True), ("\x02\x03\x03", False), ("\x11\x11\x11", False), ("\0", False)):
        text = encoder.encode("x" * (16 - len(end)) + end)
        padded = changed(text, cipherAlgorithm="AES/CBC/PKCS5Padding", passwordLength=13)
        if is_padding:
            assert encoder.decode(padded) == "x" * 13
        else:
            with pytest.raises(ConfigError, match=r"could not be decoded$"):
                encoder.decode(padded)


@pytest.mark.parametrize(
    "fields", [{"iterations": 10**12}, {"iterations": 0}, {"keyLength": 8 << 30}, {"keyLength": 0}, {"keyLength": 129}]
)
def test_a_key_that_would_take_hours_is_not_derived(fields: dict[str, object]) -> None:
    pytest.importorskip("cryptography")
    encoder = PasswordEncoder("secret", random.randbytes)
    begun = time.process_time()
    with pytest.raises(ConfigError, match=r"could not be decoded$"):
        encoder.decode(changed(encoder.encode("hunter2"), **fields))
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "settings",
    [
        EncoderSettings(key_length=100),
        EncoderSettings(key_length=64),
        EncoderSettings("DESede/CBC/PKCS5Padding", key_length=512),
        EncoderSettings("AES/CBC/NoPadding"),
        EncoderSettings("AES/ECB/PKCS5Padding"),
        EncoderSettings(key_factory="PBKDF2WithHmacMD5"),
    ],
)
def test_settings_that_cannot_encrypt_are_named_without_the_password(settings: EncoderSettings) -> None:
    pytest.importorskip("cryptography")
    with pytest.raises(ConfigError, match=r"password\.encoder\.") as failed:
        PasswordEncoder("secret", random.randbytes, settings).encode("hunter2")
    assert "hunter2" not in failed.value.message


@pytest.mark.parametrize("text", ["", "x", "keyLength:128,salt:*"])
def test_a_malformed_text_is_not_shown(text: str) -> None:
    with pytest.raises(ConfigError, match="Password could not be decoded"):
        PasswordEncoder("secret", random.randbytes).decode(text)


@samples("is_password_config")
def test_which_settings_are_stored_encrypted(given: str, expected: bool) -> None:
    assert is_stored_password(given) is expected


@samples("config_provider")
def test_references_to_other_files(given: Any, expected: str, tmp_path: Path) -> None:
    (tmp_path / "D").mkdir()
    for name, text in given["files"].items():
        (tmp_path / name).write_text(text)
    value = given["value"].replace(":F:", f":{tmp_path}/F:").replace(":D:", f":{tmp_path}/D:")
    wanted = expected.replace(":F:", f":{tmp_path}/F:").replace(":D:", f":{tmp_path}/D:")
    package = "org.apache.kafka.common.config.provider."
    settings = {
        "config.providers": "file,dir",
        "config.providers.file.class": f"{package}FileConfigProvider",
        "config.providers.dir.class": f"{package}DirectoryConfigProvider",
        "x": value,
    }
    assert resolved(settings)["x"] == wanted


def test_a_file_that_cannot_be_read_is_named() -> None:
    settings = {
        "config.providers": "f",
        "config.providers.f.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "x": "${f:/no/such/file:key}",
    }
    with pytest.raises(ConfigError, match="Could not read properties from file /no/such/file"):
        resolved(settings)
