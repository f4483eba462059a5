"""The users file: hashed passwords, roles, and files that somebody wrote by hand."""

from pathlib import Path

import pytest

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.roles import AccessRole, WebUser
from kafka_py.manager.identity.users import (
    UsersFile,
    UsersFileError,
    format_users,
    hash_password,
    is_password,
    new_user,
    parse_users,
)

PASSWORD = "correct horse"


def test_a_password_is_the_one_that_was_hashed_and_no_other() -> None:
    text = hash_password(PASSWORD, b"salt")
    assert PASSWORD not in text
    assert is_password(PASSWORD, text)
    assert not is_password(PASSWORD + " ", text)
    assert text != hash_password(PASSWORD, b"other")


@pytest.mark.parametrize("text", ["", "plain", "scrypt$1$2$3", "scrypt$x$8$1$aaaa$aaaa", "scrypt$3$8$1$aaaa$aaaa"])
def test_no_password_fits_a_malformed_hash(text: str) -> None:
    assert not is_password(PASSWORD, text)


def test_users_are_what_was_written() -> None:
    ann, ray = (new_user(name, role, PASSWORD, Chance(1)) for name, role in
                (("ann", AccessRole.ADMINISTRATOR), ("ray", AccessRole.READER)))  # fmt: skip
    text = format_users({"ann": ann, "ray": ray})
    assert parse_users(f"# comment\n\n{text}") == {"ann": ann, "ray": ray}
    assert text.startswith("ann:administrator:scrypt$16384$8$1$")


@pytest.mark.parametrize("line", ["ann", "ann:administrator", "ann:king:hash"])
def test_a_malformed_line_is_named(line: str) -> None:
    with pytest.raises(UsersFileError, match="Line 2 of the users file"):
        parse_users(f"# users\n{line}\n")


@pytest.mark.parametrize(
    ("name", "password"), [("", PASSWORD), ("a:b", PASSWORD), ("a\nb", PASSWORD), ("ann", "short")]
)
def test_names_and_passwords_that_cannot_be_used_are_refused(name: str, password: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        new_user(name, AccessRole.READER, password, Chance(1))


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = UsersFile(tmp_path / "users")
    file.add(new_user("ann", AccessRole.READER, PASSWORD, Chance(1)))
    ann = file.authenticate("ann", PASSWORD)
    assert ann == WebUser("ann", AccessRole.READER)
    assert file.authenticate("ann", "wrong password") is None
    assert file.authenticate("bob", PASSWORD) is None
    UsersFile(file.path).add(new_user("ann", AccessRole.ADMINISTRATOR, PASSWORD, Chance(2)))
    assert file.role_now(ann) is AccessRole.ADMINISTRATOR
    file.path.write_text("")
    assert file.role_now(ann) is None


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsersFileError, match="cannot be read"):
        UsersFile(tmp_path / "none").authenticate("ann", PASSWORD)
