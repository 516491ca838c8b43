"""The seven levels: which older schemas a new one is compared with, and in which direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caudal.registry.schemas.schema import Incompatibility, ParsedSchema

LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)


def differences(level: str, new: ParsedSchema, older: Sequence[ParsedSchema]) -> list[str]:
    """Why `new` may not follow `older` (oldest first) at this level, a sentence each; empty: it may."""
    conflict = first_conflict(level, new, older)
    return conflict[1] if conflict else []


def first_conflict(level: str, new: ParsedSchema, older: Sequence[ParsedSchema]) -> tuple[int, list[str]] | None:
    """The newest of `older` that forbids `new`: its index and the reasons."""
    if level not in LEVELS:
        raise ValueError(f"The compatibility level '{level}' is not known; known are {', '.join(LEVELS)}.")
    last = len(older) - 1
    for index in range(last, -1, -1):
        if index < last and not level.endswith("_TRANSITIVE"):
            break
        if reasons := list(dict.fromkeys(_reasons(level, new, older[index]))):
            return index, reasons
    return None


def _reasons(level: str, new: ParsedSchema, old: ParsedSchema) -> Iterator[str]:
    if level.startswith(("BACKWARD", "FULL")):
        yield from (described(problem, reader="new", writer="old") for problem in _problems(new, old))
    if level.startswith(("FORWARD", "FULL")):
        yield from (described(problem, reader="old", writer="new") for problem in _problems(old, new))


def _problems(reader: ParsedSchema, writer: ParsedSchema) -> Sequence[Incompatibility]:
    if reader.identity == writer.identity and reader.references == writer.references and reader.type == writer.type:
        return ()
    try:
        return reader.reads(writer)
    except RecursionError:  # two recursive schemas whose cycles meet only after a very long way
        return [Incompatibility("TOO_DEEP", "/", "The reader schema and the writer schema nest too deeply to compare")]


def described(problem: Incompatibility, *, reader: str, writer: str) -> str:
    """As clients see it, in the form that Confluent's registry uses."""
    sentence = problem.message.replace("reader schema", f"{reader} schema").replace("writer schema", f"{writer} schema")
    return f"{{errorType:'{problem.rule}', description:'{sentence}', additionalInfo:'{problem.info}'}}"
