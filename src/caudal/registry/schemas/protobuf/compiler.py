"""From a .proto text, or the base64 of a descriptor, to a FileDescriptorProto, checked against what it imports.

protoc runs inside this process: a text takes a millisecond, where a process of its own would take a hundred. The call
that is used reports errors as exceptions, writes no files, and the compiler refuses deep nesting itself.
"""

from __future__ import annotations

import ast
import base64
import binascii
import importlib.util
import re
import tempfile
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

import grpc_tools
from google.protobuf import descriptor_pb2, descriptor_pool, message
from grpc_tools import _protoc_compiler

from caudal.registry.schemas.schema import InvalidSchema

MAIN: Final = "caudal.schema.proto"  # a name that no reference has
MAX_LENGTH: Final = 4 * 1024 * 1024
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")
_STARTS_WITH_SYNTAX: Final = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*(?:syntax|edition)\s*=", re.DOTALL)
_OLD_SYNTAX: Final = 'syntax = "proto2"; '
_SERIALIZED: Final = re.compile(rb"AddSerializedFile\((b'(?:[^'\\]|\\.)*')\)")
_SHOWN_ERRORS: Final = 5


def decoded(text: str, imports: Mapping[str, bytes]) -> Any | None:
    """The file of which a text is the base64; None: it is none. It may import `imports` and the built-in files."""
    _check(text, imports)
    if not _BASE64.fullmatch(text):
        return None
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
        file = descriptor_pb2.FileDescriptorProto.FromString(content)
    except (binascii.Error, message.DecodeError):
        return None
    if not (file.message_type or file.enum_type or file.extension or file.service or file.dependency):
        return None
    if not all(isinstance(name, str) for name in file.dependency):
        raise InvalidSchema("The descriptor imports a file whose name is no text.")
    file.name = MAIN
    pool_of({**needed(file, imports), MAIN: file.SerializeToString()})
    return _tidied(file)


def compiled(text: str, imports: Mapping[str, str]) -> Any:
    """The file of a .proto text, which may import `imports` and the built-in files."""
    _check(text, imports)
    if "\0" in text:
        raise InvalidSchema("The schema holds a NUL character.")
    shift = 0
    if not _STARTS_WITH_SYNTAX.match(
        text
    ):  # as protoc takes it, but without its warning on the server's standard error
        text = _OLD_SYNTAX + text
        shift = len(_OLD_SYNTAX)
    with tempfile.TemporaryDirectory(prefix="caudal-proto-") as folder:
        for name, content in (*imports.items(), (MAIN, text)):
            path = Path(folder, name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
            except UnicodeEncodeError:
                raise InvalidSchema("The schema has half of a surrogate pair, which is no character.") from None
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                raise InvalidSchema(f"The reference '{name}' is a file and a folder to other references.") from None
        files = dict(_run(MAIN, (folder,), shift))
    return _tidied(descriptor_pb2.FileDescriptorProto.FromString(files[MAIN]))


def _check(text: str, imports: Iterable[str]) -> None:
    if not text.strip():
        raise InvalidSchema("The schema is empty.")
    if len(text) > MAX_LENGTH:
        raise InvalidSchema(f"The schema has {len(text)} characters; at most {MAX_LENGTH} are allowed.")
    for name in imports:
        if not _safe(name) or name == MAIN or name.endswith("/"):
            raise InvalidSchema(f"The reference '{name[:200]}' has no name that a .proto file can import.")


def _tidied(file: Any) -> Any:
    # Later editions have words (`export`, `import option`) that the compiler does not hand on to Python.
    if file.syntax == "editions" and file.edition != descriptor_pb2.EDITION_2023:
        raise InvalidSchema("Of the editions only 2023 is supported, besides the syntaxes proto2 and proto3.")
    file.ClearField("source_code_info")
    for message_type in file.message_type:
        _drop_usual_json_names(message_type)
    for extension in file.extension:
        _drop_usual_json_name(extension)
    return file


@lru_cache(maxsize=256)
def built_in(name: str) -> tuple[tuple[str, bytes], ...] | None:
    """A file that every schema may import without a reference, after what it imports itself; None: no such file."""
    if not any((Path(folder) / name).is_file() for folder in _include_folders()):
        return None
    return tuple(_run(name, ()))


def is_built_in(name: str) -> bool:
    return name.startswith(("google/", "confluent/")) and _safe(name) and built_in(name) is not None


def needed(file: Any, imports: Mapping[str, bytes]) -> dict[str, bytes]:
    """What a file imports, directly or not, each after what it needs itself; raises InvalidSchema."""
    found: dict[str, bytes] = {}
    open_names: set[str] = set()

    def add(name: str) -> None:
        if name in found:
            return
        if is_built_in(name):
            found.update(built_in(name) or ())
        elif name not in imports:
            raise InvalidSchema(f"The import '{name}' is neither a reference nor a file that every schema may import.")
        elif name in open_names:
            raise InvalidSchema(f"The import '{name}' imports itself, perhaps through others.")
        else:
            open_names.add(name)
            for inner in descriptor_pb2.FileDescriptorProto.FromString(imports[name]).dependency:
                add(inner)
            found[name] = imports[name]

    for name in file.dependency:
        add(name)
    return found


def pool_of(files: Mapping[str, bytes]) -> Any:
    """A pool of descriptors with these files and nothing else; raises InvalidSchema."""
    pool = descriptor_pool.DescriptorPool()
    for name, content in files.items():
        try:
            pool.AddSerializedFile(content)
        except (TypeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InvalidSchema(f"The file '{name}' is no valid descriptor: {reason[:400].rstrip('.')}.") from None
    return pool


def _run(name: str, folders: tuple[str, ...], shift: int = 0) -> list[tuple[str, bytes]]:
    """The file and all it imports, serialised, each after what it needs."""
    places = [folder.encode() for folder in (*folders, *_include_folders())]
    try:
        generated = _protoc_compiler.get_protos(name.encode(), places)
    except _protoc_compiler.ProtocErrors as errors:
        raise InvalidSchema(_sentence(errors.args[0], shift)) from None
    except Exception as error:
        raise InvalidSchema(
            f"The compiler of Protobuf refuses the schema: {' '.join(str(error).split())[:400]}."
        ) from None
    files = []
    for _, code in generated:
        found = _SERIALIZED.search(code)
        if found is None:
            raise InvalidSchema("The compiler of Protobuf gave no descriptor for the schema.")
        content: bytes = ast.literal_eval(found[1].decode("latin-1"))
        files.append((descriptor_pb2.FileDescriptorProto.FromString(content).name, content))
    return files


def _sentence(errors: list[Any], shift: int) -> str:
    told = []
    for error in errors[:_SHOWN_ERRORS]:
        reason = error.message.decode("utf-8", "replace").strip().rstrip(".")
        file = error.filename.decode("utf-8", "replace")
        place = [] if file == MAIN else [file]
        if error.line >= 0:
            column = error.column + 1 - (shift if error.line == 0 and file == MAIN else 0)
            place.append(f"line {error.line + 1}, column {max(column, 1)}")
        told.append(": ".join([*place, reason]))
    more = f"; and {len(errors) - _SHOWN_ERRORS} more" if len(errors) > _SHOWN_ERRORS else ""
    return "; ".join(told) + more + "."


@cache
def _include_folders() -> tuple[str, ...]:
    folders = [Path(__file__).parent / "include", Path(grpc_tools.__file__).parent / "_proto"]
    spec = importlib.util.find_spec("google.type")  # its files come with a package that need not be there
    if spec is not None:
        folders.extend(Path(place).parents[1] for place in spec.submodule_search_locations or ())
    return tuple(map(str, folders))


def _safe(name: str) -> bool:
    """Names of references become files in a temporary folder: never outside of it."""
    parts = PurePosixPath(name).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and name.isprintable() and len(name.encode()) < 200


def _drop_usual_json_names(message_type: Any) -> None:
    for field in (*message_type.field, *message_type.extension):
        _drop_usual_json_name(field)
    for nested in message_type.nested_type:
        _drop_usual_json_names(nested)


def _drop_usual_json_name(field: Any) -> None:
    """Some tools write the name in JSON of every field into descriptors; only one that was chosen is a fact."""
    if field.HasField("json_name") and field.json_name == json_name(field.name):
        field.ClearField("json_name")


def json_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)
