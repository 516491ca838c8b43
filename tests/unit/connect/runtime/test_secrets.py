"""Secrets are filled in from allowed places only, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.connect import ConfigError
from caudal.connect.runtime.secrets import fill, fill_with_errors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "db.properties").write_text(
        "# the database\nuser=ana\npassword: p\\u00e4ss=w\\:ord\nlong = one \\\n   two\n!no=comment\nempty=\n"
    )
    (allowed / "token").write_text("abc\n")
    (tmp_path / "outside").write_text("k=v\n")
    (allowed / "link").symlink_to(tmp_path / "outside")
    return allowed


def filled(text: str, folder: Path) -> str:
    return fill({"it": text}, [folder]).config["it"]


def refusal(text: str, folder: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        filled(text, folder)
    assert raised.value.key == "it"
    return str(raised.value)


def test_a_key_of_a_properties_file(folder: Path) -> None:
    file = folder / "db.properties"
    assert filled(f"${{file:{file}:user}}", folder) == "ana"
    assert filled(f"${{file:{file}:password}}", folder) == "päss=w:ord"
    assert filled(f"${{file:{file}:long}}", folder) == "one two"
    assert filled(f"${{file:{file}:empty}}", folder) == ""


def test_whole_files(folder: Path) -> None:
    assert filled(f"${{file:{folder}/token}}", folder) == "abc"
    assert filled(f"${{directory:{folder}:token}}", folder) == "abc"


def test_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_TEST_SECRET", "${env:HOME}")
    assert filled("${env:CAUDAL_TEST_SECRET}", folder) == "${env:HOME}"  # not looked at again
    assert "no such variable" in refusal("${env:CAUDAL_NOT_SET}", folder)


def test_several_in_one_text(folder: Path) -> None:
    file = folder / "db.properties"
    text = f"postgresql://${{file:{file}:user}}:${{file:{folder}/token}}@db/${{topic}}"
    assert filled(text, folder) == "postgresql://ana:abc@db/${topic}"


@pytest.mark.parametrize("text", ["plain", "${topic}", "$1", "${}", "a${b", "^(.*)$"])
def test_other_texts_stay(text: str, folder: Path) -> None:
    assert filled(text, folder) == text


def test_what_is_outside_of_the_allowed_folders_is_refused(folder: Path) -> None:
    outside = folder.parent / "outside"
    for text in (
        f"${{file:{outside}:k}}",
        f"${{file:{folder}/../outside:k}}",
        f"${{file:{folder}/link:k}}",  # a symbolic link that leads out
        f"${{directory:{folder.parent}:outside}}",
        "${file:/etc/hostname}",
    ):
        assert "not in a folder that this worker allows" in refusal(text, folder)
    # Whether such a file exists is not said either.
    assert "not in a folder" in refusal(f"${{file:{folder.parent}/no-such-file:k}}", folder)
    with pytest.raises(ConfigError, match="not in a folder"):
        fill({"it": f"${{file:{folder}/token}}"}, [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${file:FOLDER/db.properties:nokey}", "no such key"),
        ("${file:FOLDER/none}", "no such file"),
        ("${file:FOLDER}", "no such file"),
        ("${file:relative/path:k}", "must be absolute"),
        ("${directory:FOLDER:../outside}", "not a path"),
        ("${directory:FOLDER}", "is written"),
        ("${vault:secret:key}", "no provider named 'vault'"),
    ],
)
def test_what_is_not_to_be_had_names_its_property(text: str, why: str, folder: Path) -> None:
    assert why in refusal(text.replace("FOLDER", str(folder)), folder)


def test_secrets_are_hidden_in_texts_and_from_print(folder: Path) -> None:
    found = fill({"url": f"x:${{file:{folder}/token}}", "user": "abcdef"}, [folder])
    assert found.hide("cannot connect with abc") == "cannot connect with [hidden]"
    assert "abc" not in repr(found)


def test_a_validation_hears_of_all_that_are_missing(folder: Path) -> None:
    config = {"a": "${env:CAUDAL_NOT_SET}", "b": f"${{file:{folder}/token}}", "c": "${x:y}"}
    found, errors = fill_with_errors(config, [folder])
    assert found.config == {"b": "abc"}
    assert list(errors) == ["a", "c"]
