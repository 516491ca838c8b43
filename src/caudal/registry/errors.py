"""The one table of REST errors: codes, statuses and sentences as clients of Confluent's registry know them."""

from __future__ import annotations

from collections.abc import Sequence


class RegistryError(Exception):
    """Answered as `{"error_code": code, "message": message}` with this HTTP status."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def bad_request(message: str) -> RegistryError:
    return RegistryError(400, 400, message)


def unprocessable(message: str) -> RegistryError:
    return RegistryError(422, 422, message)


def subject_not_found(subject: str) -> RegistryError:
    return RegistryError(404, 40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RegistryError:
    return RegistryError(404, 40402, f"Version {version} not found.")


def schema_not_found(id_or_guid: int | str | None = None) -> RegistryError:
    return RegistryError(404, 40403, "Schema not found" if id_or_guid is None else f"Schema {id_or_guid} not found")


def subject_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(
        404, 40404, f"Subject '{subject}' was soft deleted. Set permanent=true to delete it permanently."
    )


def subject_not_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(404, 40405, f"Subject '{subject}' was not deleted first before being permanently deleted.")


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        404,
        40406,
        f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete it permanently.",
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        404, 40407, f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted."
    )


def config_not_found(subject: str) -> RegistryError:
    return RegistryError(404, 40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def mode_not_found(subject: str) -> RegistryError:
    return RegistryError(404, 40409, f"Subject '{subject}' does not have subject-level mode configured")


def incompatible(subject: str, reasons: Sequence[str], level: str) -> RegistryError:
    details = ", ".join([*reasons, f"{{compatibility: '{level}'}}"])
    return RegistryError(
        409,
        409,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: [{details}]',
    )


def invalid_schema(reason: str) -> RegistryError:
    return RegistryError(422, 42201, reason)


def invalid_version(text: object) -> RegistryError:
    return RegistryError(
        422,
        42202,
        f"The specified version '{text}' is not a valid version id. "
        'Allowed values are between [1, 2^31-1] and the string "latest"',
    )


def invalid_level(text: object, levels: Sequence[str]) -> RegistryError:
    return RegistryError(
        422, 42203, f"Invalid compatibility level {text!r}. Valid values are {', '.join(levels).lower()}"
    )


def invalid_mode(text: object, modes: Sequence[str]) -> RegistryError:
    return RegistryError(422, 42204, f"Invalid mode {text!r}. Valid values are {', '.join(modes)}")


def not_permitted(reason: str) -> RegistryError:
    return RegistryError(422, 42205, reason)


def reference_exists(subject: str, version: int, ids: Sequence[int]) -> RegistryError:
    listed = ", ".join(map(str, ids))
    return RegistryError(
        422, 42206, f"One or more references exist to the schema {subject} version {version}: schema ids {listed}"
    )


def id_does_not_match(given: int, actual: int) -> RegistryError:
    return RegistryError(422, 42207, f"The id {given} does not match the id {actual} that the schema has already")


def invalid_subject(subject: str) -> RegistryError:
    return RegistryError(422, 42208, f"The specified subject '{subject}' is not a valid subject.")


def schema_too_large(size: int) -> RegistryError:
    return RegistryError(422, 42209, f"The schema is too large for the topic: {size} bytes")


def invalid_rule_set(reason: str) -> RegistryError:
    return RegistryError(422, 42210, f"Invalid rule set: {reason}")


def context_not_empty(context: str) -> RegistryError:
    return RegistryError(422, 42211, f"The specified context '{context}' is not empty.")


def store_failed(reason: str) -> RegistryError:
    return RegistryError(500, 50001, reason)


def timed_out(reason: str) -> RegistryError:
    return RegistryError(500, 50002, reason)


def forwarding_failed(reason: str) -> RegistryError:
    return RegistryError(500, 50003, reason)


def writer_unknown(reason: str) -> RegistryError:
    return RegistryError(500, 50004, reason)
