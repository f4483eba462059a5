"""The users file: hashed passwords, roles, and files that somebody wrote by hand."""

from pathlib import Path

import pytest

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.roles import AccessRole
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
    ("name", "password"),
    [("", PASSWORD), ("a:b", PASSWORD), ("a\nb", PASSWORD), ("ann", "short"), ("ann", "x" * 1_001)],
)
def test_names_and_passwords_that_cannot_be_used_are_refused(name: str, password: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        new_user(name, AccessRole.READER, password, Chance(1))


@pytest.mark.parametrize("name", [" ann", "ann "])
def test_a_name_that_no_form_can_send_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="blanks"):
        new_user(name, AccessRole.READER, PASSWORD, Chance(1))


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = UsersFile(tmp_path / "users")
    file.add(new_user("ann", AccessRole.READER, PASSWORD, Chance(1)))
    ann = file.authenticate("ann", PASSWORD)
    assert ann is not None and ann[:2] == ("ann", AccessRole.READER)
    assert file.authenticate("ann", "wrong password") is None
    assert file.authenticate("bob", PASSWORD) is None
    file.path.write_text(file.path.read_text().replace(":reader:", ":administrator:"))
    assert file.role_now(ann) is AccessRole.ADMINISTRATOR
    UsersFile(file.path).add(new_user("ann", AccessRole.ADMINISTRATOR, "another password", Chance(2)))
    assert file.role_now(ann) is None
    again = file.authenticate("ann", "another password")
    assert again is not None and file.role_now(again) is AccessRole.ADMINISTRATOR
    file.path.write_text("")
    assert file.role_now(again) is None


def test_a_user_that_is_added_leaves_all_other_lines_alone(tmp_path: Path) -> None:
    ann, bob, new = (new_user(name, AccessRole.READER, PASSWORD, Chance(number)) for number, name in
                     enumerate(("ann", "bob", "ann")))  # fmt: skip
    before = f"# who may\n{format_users({'ann': ann})}\n# the others\n{format_users({'bob': bob})}"
    path = tmp_path / "users"
    path.write_text(before)
    UsersFile(path).add(new)
    assert path.read_text() == before.replace(ann.password_hash, new.password_hash)
    UsersFile(path).add(ann._replace(name="cid"))
    assert path.read_text().startswith("# who may\n") and list(UsersFile(path).users()) == ["ann", "bob", "cid"]


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsersFileError, match="cannot be read"):
        UsersFile(tmp_path / "none").authenticate("ann", PASSWORD)
