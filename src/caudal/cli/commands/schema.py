"""`caudal schema list / register / show / diff / check / delete / compat / mode / search`, over the REST API.

It works with any registry that speaks that API, Confluent's included (search is Caudal's own). Contexts need no
commands: a subject of one is written `:.context:subject`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any

import typer

from caudal.cli import live_values
from caudal.cli.asking import Yes, confirm
from caudal.cli.clients import AsJson, key_values
from caudal.cli.errors import CliError, UsageError
from caudal.cli.output import print_json, print_table
from caudal.cli.registry_access import NO_SUBJECT, Registry, registry_client
from caudal.cli.schema_comparison import parsed, side, unreadable
from caudal.cli.schema_files import (
    SchemaFile,
    is_version,
    read_object,
    read_schema,
    references,
    subject_and_version,
    version_number,
)
from caudal.cli.schema_text import diff_lines, print_diff, print_schema, reasons

if TYPE_CHECKING:
    from caudal.registry.client import RegisteredSchema, RegistryClient
    from caudal.registry.schemas.schema import Reference

schema = typer.Typer(help="Register, show, compare and delete schemas of the Schema Registry.", no_args_is_help=True)

LEVELS = ("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE")
MODES = ("READWRITE", "READONLY", "IMPORT")
LEVEL_THREADS = 8
NOT_FOUND = (NO_SUBJECT, 40403)
DELETED_ALREADY = (40404, 40406)
NOT_SET = (NO_SUBJECT, 40408, 40409)  # of a subject's level or mode; the first is the answer to a reset

Subject = Annotated[str, typer.Argument(metavar="SUBJECT", autocompletion=live_values.subjects)]
File = Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for stdin.")]
Type = Annotated[
    str | None, typer.Option("--type", "-t", help="avro, json or protobuf (default: by the file's suffix).")
]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", "-R", metavar="NAME=SUBJECT:VERSION", help="A schema that this one uses. Repeatable."),
]
Normalize = Annotated[
    bool, typer.Option("--normalize", help="Schemas that differ in order or spelling only count as one.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(schema, name="schema")


@schema.command("list")
def list_subjects(
    prefix: Annotated[str, typer.Argument(metavar="[PREFIX]", help="Only subjects that begin so.")] = "",
    deleted: Annotated[bool, typer.Option("--deleted", help="Soft-deleted versions too.")] = False,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """List the subjects with their versions, language and level."""
    with registry_client(registry) as client:
        subjects: dict[str, list[RegisteredSchema]] = {}
        for each in client.schemas(prefix or None, deleted=deleted):
            subjects.setdefault(each.subject or "", []).append(each)
        with ThreadPoolExecutor(LEVEL_THREADS) as pool:
            levels = list(pool.map(lambda subject: _level(client, subject), subjects))
    rows = [
        {
            "subject": subject,
            "versions": [each.version for each in versions],
            "deleted": [each.version for each in versions if each.deleted],
            "id": versions[-1].id,
            "type": versions[-1].type,
            "level": level,
        }
        for (subject, versions), level in zip(subjects.items(), levels, strict=True)
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ["SUBJECT", "VERSIONS", "LATEST ID", "TYPE", "LEVEL"],
        [[row["subject"], _numbers(row), row["id"], row["type"], row["level"]] for row in rows],
        empty="no subjects; register a schema with `caudal schema register SUBJECT FILE`",
    )


def _numbers(row: dict[str, Any]) -> str:
    """1-3,5 (deleted: 4)"""
    live = _ranges([number for number in row["versions"] if number not in row["deleted"]])
    return f"{live} (deleted: {_ranges(row['deleted'])})".strip() if row["deleted"] else live


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


@schema.command("register")
def register_schema(
    subject: Subject,
    file: File,
    type_: Type = None,
    reference: References = None,
    normalize: Normalize = False,
    metadata: Annotated[
        list[str] | None, typer.Option("--metadata", "-m", metavar="KEY=VALUE", help="A property. Repeatable.")
    ] = None,
    rules: Annotated[
        str | None, typer.Option("--rules", metavar="FILE", help="A rule set (data policies) as JSON.")
    ] = None,
    id_: Annotated[int | None, typer.Option("--id", min=1, help="Under this id: needs mode IMPORT.")] = None,
    version: Annotated[int | None, typer.Option("--version", min=1, help="As this version: needs mode IMPORT.")] = None,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """Register a schema as the next version of a subject. One that the subject has already is found, not added."""
    from caudal.registry.client import RegistryError

    given = read_schema(file, type_)
    uses = references(reference)
    properties = key_values(metadata, "--metadata")
    asked: dict[str, Any] = {
        "normalize": normalize,
        "metadata": {"properties": properties} if properties else None,
        "rule_set": read_object(rules, "--rules") if rules else None,
    }
    with registry_client(registry, subject) as client:
        known = _find(client, subject, given, uses, asked)
        try:
            answer = client.register(subject, given.text, given.type, uses, id=id_, version=version, **asked)
        except RegistryError as error:
            if error.status != 409:
                raise
            raise _incompatible(subject, "was not registered", reasons([error.message])) from None
        if known is not None:
            version = known.version
        elif version is None:
            found = answer if answer.version else _find(client, subject, given, uses, asked)
            version = found.version if found is not None else None
    if as_json:
        print_json({"subject": subject, "version": version, "id": answer.id, "new": known is None})
    elif known is not None:
        print(f"{subject} has it already: version {version}, id {answer.id}")
    else:
        print(f"registered {subject} version {version}, id {answer.id}")


@schema.command()
def show(
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="SUBJECT[@VERSION]", help="Without a version: the latest.", autocompletion=live_values.subjects
        ),
    ] = None,
    id_: Annotated[int | None, typer.Option("--id", min=0, help="A schema by its id.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Find a soft-deleted version too.")] = False,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """Show a schema: its text on stdout, what belongs to it on stderr."""
    if (subject is None) == (id_ is None):
        raise UsageError("give a subject, such as orders-value or orders-value@2, or --id N")
    name, version = subject_and_version(subject or "")
    with registry_client(registry, name or None) as client:
        if id_ is not None:
            found, places = client.schema(id_), client.versions_of_id(id_, deleted=deleted)
        else:
            found, places = client.version(name, version_number(version), deleted=deleted), []
    if as_json:
        print_json(_document(found, places))
        return
    for line in _belongings(found, places):
        print(line, file=sys.stderr)
    print_schema(found.type, found.text)


@schema.command()
def diff(
    subject: Subject,
    old: Annotated[str, typer.Argument(metavar="V1", help="A version, `latest`, or a file.")],
    new: Annotated[str, typer.Argument(metavar="V2", help="A version, `latest`, or a file.")] = "latest",
    type_: Type = None,
    reference: References = None,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """Compare two versions, or a version with a file: the lines, and whether each can read the other's records."""
    from caudal.registry.schemas.schema import InvalidSchema

    uses = references(reference)
    with registry_client(registry, subject) as client:
        sides = [side(client, subject, place, type_, uses) for place in (old, new)]
        try:
            understood = [parsed(client, found, its) for found, its in sides]
        except InvalidSchema as error:
            raise CliError(_one_line(error)) from None
    (before, _), (after, _) = sides
    # A file is compared in the form in which it would be stored.
    first, second = understood
    lines = diff_lines((before.name, before.type, first.text), (after.name, after.type, second.text))
    backward = unreadable(second, first, reader="new", writer="old")
    forward = unreadable(first, second, reader="old", writer="new")
    if as_json:
        print_json(
            {
                "diff": lines,
                "backward": {"compatible": not backward, "reasons": backward},
                "forward": {"compatible": not forward, "reasons": forward},
            }
        )
        return
    print_diff(lines or [f"{before.name} and {after.name} read the same"])
    print()
    _print_verdict(f"BACKWARD  {after.name} reads records of {before.name}", backward)
    _print_verdict(f"FORWARD   {before.name} reads records of {after.name}", forward)


@schema.command()
def check(
    subject: Subject,
    file: File,
    version: Annotated[
        str | None, typer.Option("--version", "-v", help="Against this version only (a number, or latest).")
    ] = None,
    type_: Type = None,
    reference: References = None,
    normalize: Normalize = False,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """May this schema be the subject's next version? Prints each reason against it and ends with code 1."""
    if version is not None and not is_version(version):
        raise UsageError(f"--version is a number or latest, not '{version}'")
    given = read_schema(file, type_)
    with registry_client(registry, subject) as client:
        answer = client.check(
            subject, given.text, given.type, references(reference), version=version, normalize=normalize
        )
        level = _level(client, subject)
    against = [] if answer.compatible else reasons(answer.messages)
    if as_json:
        print_json({"compatible": answer.compatible, "level": level, "reasons": against})
        if not answer.compatible:
            raise typer.Exit(1)
    elif not answer.compatible:
        raise _incompatible(subject, f"may not have it as its next version (level {level})", against)
    else:
        print(f"compatible: {subject} may have it as its next version (level {level})")


@schema.command()
def delete(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT[@VERSION]", help="Without a version: all of them.", autocompletion=live_values.subjects
        ),
    ],
    permanent: Annotated[
        bool, typer.Option("--permanent", help="For ever: records with its id can no longer be read.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """Delete a version or a whole subject. Its ids stay readable unless it is permanent.

    Asks first when a person is at the keyboard.
    """
    name, version = subject_and_version(subject)
    what = f"{name} version {version}" if version is not None else f"{name} with all its versions"
    with registry_client(registry, name) as client:
        confirm(f"Delete {what}{' for ever' if permanent else ''}?", yes)
        gone = _delete(client, name, version, permanent, what)
    if as_json:
        print_json({"subject": name, "versions": gone, "permanent": permanent})
    else:
        kind = "deleted for ever" if permanent else "deleted"
        print(f"{kind}: {name} version{'s' if len(gone) > 1 else ''} {_ranges(gone)}")


@schema.command()
def compat(
    subject: Annotated[
        str | None,
        typer.Argument(metavar="[SUBJECT]", help="Without: the level of all.", autocompletion=live_values.subjects),
    ] = None,
    level: Annotated[str | None, typer.Argument(metavar="[LEVEL]", help=", ".join(LEVELS))] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Back to the default.")] = False,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """Show, set or reset the compatibility level of a subject, or of all that have none of their own."""
    subject, level = _setting(subject, level, LEVELS, "level", reset)
    with registry_client(registry, subject) as client:
        if reset:
            _unless_unset(lambda: client.delete_config(subject))
        elif level is not None:
            client.set_config(subject, compatibility=level)
        own = subject is None or _has_own(lambda: client.config(subject))
        now = _level(client, subject)
    _say_setting("compatibilityLevel", "level", subject, now, own, as_json)


@schema.command()
def mode(
    subject: Annotated[
        str | None,
        typer.Argument(metavar="[SUBJECT]", help="Without: the mode of all.", autocompletion=live_values.subjects),
    ] = None,
    mode_: Annotated[str | None, typer.Argument(metavar="[MODE]", help=", ".join(MODES))] = None,
    reset: Annotated[bool, typer.Option("--reset", help="A subject's mode: back to that of all.")] = False,
    force: Annotated[bool, typer.Option("--force", help="IMPORT although there are schemas already.")] = False,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """Show, set or reset the mode: READWRITE, READONLY, or IMPORT (ids are given, nothing is compared)."""
    subject, chosen = _setting(subject, mode_, MODES, "mode", reset)
    with registry_client(registry, subject) as client:
        if reset and subject is None:
            client.set_mode("READWRITE")
        elif reset and subject is not None:
            name = subject
            _unless_unset(lambda: client.delete_mode(name))
        elif chosen is not None:
            client.set_mode(chosen, subject, force=force)
        own = subject is None or _has_own(lambda: client.mode(subject))
        now = client.mode(subject, default_to_global=subject is not None)
    _say_setting("mode", "mode", subject, now, own, as_json)


@schema.command()
def search(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD...]", help="All of them must be found.")] = None,
    type_: Annotated[str | None, typer.Option("--type", "-t", help="avro, json or protobuf.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="With a field of this tag, such as PII.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, max=1000, help="At most so many.")] = None,
    as_json: AsJson = False,
    registry: Registry = None,
) -> None:
    """Find schemas by subject, field, documentation or tag."""
    from caudal.registry.client import RegistryError

    if not (words or type_ or tag):
        raise UsageError("give words to search for, --tag or --type")
    with registry_client(registry) as client:
        try:
            found = client.search(" ".join(words or ()) or None, type=type_, tag=tag, limit=limit)
        except RegistryError as error:
            if error.code != 404:
                raise
            raise CliError(f"{client.address} has no search; it is an addition of Caudal's registry") from None
    if as_json:
        print_json(found)
        return
    print_table(
        ["SUBJECT", "VERSION", "ID", "TYPE", "FOUND"],
        [[row["subject"], row["version"], row["id"], row["schemaType"], _places(row["found"])] for row in found],
        empty="nothing found",
    )


def _places(found: list[dict[str, str]]) -> str:
    places = [f"{place['where']} {place['path'] or place['text']}" for place in found]
    return ", ".join(dict.fromkeys(places[:4])) + (", …" if len(places) > 4 else "")


# ---------------------------------------------------------------------- what the commands share


def _level(client: RegistryClient, subject: str | None) -> str:
    config = client.config(subject, default_to_global=subject is not None)
    return str(config.get("compatibilityLevel") or config.get("compatibility"))


def _find(
    client: RegistryClient, subject: str, given: SchemaFile, uses: list[Reference], asked: dict[str, Any]
) -> RegisteredSchema | None:
    from caudal.registry.client import RegistryError

    try:
        return client.lookup(subject, given.text, given.type, uses, **asked)
    except RegistryError as error:
        if error.code not in NOT_FOUND:
            raise
        return None


def _incompatible(subject: str, verdict: str, against: list[str]) -> CliError:
    """The reasons go to stdout, a line each; the sentence ends the command."""
    for reason in against:
        print(reason)
    return CliError(f"{subject} {verdict}: {len(against) or 1} reason{'s' if len(against) > 1 else ''}")


def _document(found: RegisteredSchema, places: list[tuple[str, int]]) -> dict[str, Any]:
    import json

    text: Any = found.text
    if found.type != "PROTOBUF":
        try:
            text = json.loads(found.text)
        except ValueError:
            pass
    document: dict[str, Any] = {"subject": found.subject, "version": found.version, "id": found.id}
    document |= {"schemaType": found.type, "schema": text}
    document |= {"references": [reference._asdict() for reference in found.references]}
    document |= {"metadata": found.metadata, "ruleSet": found.rule_set}
    if places:
        document["registered"] = [{"subject": subject, "version": version} for subject, version in places]
    return document


def _belongings(found: RegisteredSchema, places: list[tuple[str, int]]) -> list[str]:
    where = f"{found.subject} version {found.version}" if found.subject else f"id {found.id}"
    lines = [f"{where}  id {found.id}  {found.type}" if found.subject else f"{where}  {found.type}"]
    lines += [f"registered as {subject} version {version}" for subject, version in places]
    lines += [f"uses {each.name} = {each.subject} version {each.version}" for each in found.references]
    properties = (found.metadata or {}).get("properties") or {}
    lines += [f"{key}={value}" for key, value in properties.items()]
    for kind in ("domainRules", "migrationRules", "encodingRules"):
        for rule in (found.rule_set or {}).get(kind) or ():
            lines.append(f"rule {rule.get('name')}: {rule.get('type')} {rule.get('expr') or ''}".rstrip())
    return lines


def _print_verdict(title: str, against: list[str]) -> None:
    print(f"{title}: {'no' if against else 'yes'}")
    for reason in against:
        print(f"  {reason}")


def _delete(client: RegistryClient, subject: str, version: str | None, permanent: bool, what: str) -> list[int]:
    """Registries delete in two steps, and refuse the second without the first."""
    from caudal.registry.client import RegistryError

    def step(for_ever: bool) -> list[int]:
        if version is None:
            return client.delete_subject(subject, permanent=for_ever)
        return [client.delete_version(subject, number, permanent=for_ever)]

    number = version_number(version)
    try:
        gone = step(False)
        number = gone[0] if version is not None else number
    except RegistryError as error:
        if error.code not in DELETED_ALREADY:
            raise
        if not permanent:
            raise CliError(f"{what} is deleted already; --permanent deletes it for ever") from None
    return step(True) if permanent else gone


def _setting(
    subject: str | None, value: str | None, values: tuple[str, ...], what: str, reset: bool
) -> tuple[str | None, str | None]:
    """One word alone that is a value sets it for all."""
    if subject is not None and value is None and subject.upper() in values:
        subject, value = None, subject
    if value is not None and value.upper() not in values:
        raise UsageError(f"a {what} is one of {', '.join(values)}, not '{value}'")
    if value is not None and reset:
        raise UsageError(f"give a {what} or --reset, not both")
    return subject, value.upper() if value is not None else None


def _has_own(ask: Callable[[], object]) -> bool:
    from caudal.registry.client import RegistryError

    try:
        ask()
    except RegistryError as error:
        if error.code not in NOT_SET:
            raise
        return False
    return True


def _unless_unset(reset: Callable[[], object]) -> None:
    _has_own(reset)


def _say_setting(key: str, word: str, subject: str | None, value: str, own: bool, as_json: bool) -> None:
    if as_json:
        print_json({"subject": subject, key: value, "own": own})
    elif subject is None:
        print(f"{word} of all: {value}")
    else:
        print(f"{word} of {subject}: {value}" + ("" if own else " (that of all)"))


def _one_line(error: object) -> str:
    return " ".join(str(error).split())
