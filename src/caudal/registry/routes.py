"""The paths of the REST API: as they are matched, and as /openapi.json describes them."""

from __future__ import annotations

from caudal.registry.endpoints import Endpoints
from caudal.registry.http import Route
from caudal.registry.names import DEFAULT_CONTEXT, WILDCARD, normal_context

SCOPED = ("config", "mode")


def routes(endpoints: Endpoints) -> list[Route]:
    """Every path, as it is matched and as /openapi.json describes it."""
    e = endpoints
    listing, rows = ("deleted", "deletedOnly"), ("offset", "limit")
    found = (40401, 40402)
    write = (42205, 50001, 50002, 50003, 50004)
    return [
        Route("GET", "/", e.root, "The registry is there"),
        Route("GET", "/subjects", e.list_subjects, "All subjects", ("subjectPrefix", *listing, *rows)),
        Route(
            "POST",
            "/subjects/{subject}",
            e.look_up,
            "Whether a schema is registered under the subject",
            ("normalize", "deleted", "format"),
            "Schema",
            (40401, 40403, 42201),
        ),
        Route(
            "DELETE",
            "/subjects/{subject}",
            e.delete_subject,
            "Delete a subject",
            ("permanent",),
            None,
            (40401, 40404, 40405, 42206, *write),
        ),
        Route(
            "GET", "/subjects/{subject}/versions", e.list_versions, "Its versions", (*listing, *rows), None, (40401,)
        ),
        Route(
            "POST",
            "/subjects/{subject}/versions",
            e.register,
            "Register a schema",
            ("normalize",),
            "Schema",
            (409, 42201, 42207, 42208, 42209, 42210, *write),
        ),
        Route(
            "GET",
            "/subjects/{subject}/versions/{version}",
            e.get_version,
            "One version; `latest` is the last",
            ("deleted", "format"),
            None,
            (*found, 42202),
        ),
        Route(
            "DELETE",
            "/subjects/{subject}/versions/{version}",
            e.delete_version,
            "Delete one version",
            ("permanent",),
            None,
            (*found, 40406, 40407, 42202, 42206, *write),
        ),
        Route(
            "GET",
            "/subjects/{subject}/versions/{version}/schema",
            e.get_version_schema,
            "The schema alone",
            ("deleted", "format"),
            None,
            (*found, 42202),
        ),
        Route(
            "GET",
            "/subjects/{subject}/versions/{version}/referencedby",
            e.get_referenced_by,
            "Ids of the schemas that refer to it",
            ("deleted", *rows),
            None,
            (*found, 42202),
        ),
        Route(
            "GET",
            "/subjects/{subject}/metadata",
            e.get_by_metadata,
            "The latest version whose metadata has these properties",
            ("key", "value", "deleted", "format"),
            None,
            (40401, 40403),
        ),
        Route(
            "GET",
            "/schemas",
            e.list_schemas,
            "Schemas of all subjects",
            ("subjectPrefix", "deleted", "latestOnly", "ruleType", *rows),
        ),
        Route("GET", "/schemas/types", e.list_types, "The languages of schemas"),
        Route(
            "GET",
            "/schemas/ids/{id}",
            e.get_by_id,
            "A schema by its id",
            ("subject", "format", "fetchMaxId"),
            None,
            (40403,),
        ),
        Route(
            "GET",
            "/schemas/ids/{id}/schema",
            e.get_text_by_id,
            "The schema alone",
            ("subject", "format"),
            None,
            (40403,),
        ),
        Route(
            "GET",
            "/schemas/ids/{id}/subjects",
            e.get_subjects_by_id,
            "The subjects that have it",
            ("subject", "deleted", *rows),
            None,
            (40403,),
        ),
        Route(
            "GET",
            "/schemas/ids/{id}/versions",
            e.get_versions_by_id,
            "The versions that have it",
            ("subject", "deleted", *rows),
            None,
            (40403,),
        ),
        Route("GET", "/schemas/guids/{guid}", e.get_by_guid, "A schema by its guid", ("format",), None, (40403,)),
        Route("GET", "/schemas/guids/{guid}/ids", e.get_ids_by_guid, "Its ids, by context", (), None, (40403,)),
        Route(
            "POST",
            "/compatibility/subjects/{subject}/versions/{version}",
            e.check_version,
            "Whether a schema may follow one version",
            ("verbose", "normalize"),
            "Schema",
            (*found, 42201, 42202),
        ),
        Route(
            "POST",
            "/compatibility/subjects/{subject}/versions",
            e.check_all,
            "Whether a schema may be registered next",
            ("verbose", "normalize"),
            "Schema",
            (42201,),
        ),
        Route("GET", "/config", e.get_config, "The global config"),
        Route("PUT", "/config", e.put_config, "Change the global config", (), "Config", (42203, *write)),
        Route("DELETE", "/config", e.delete_config, "Back to the defaults", (), None, write),
        Route(
            "GET", "/config/{subject}", e.get_subject_config, "A subject's config", ("defaultToGlobal",), None, (40408,)
        ),
        Route("PUT", "/config/{subject}", e.put_config, "Change a subject's config", (), "Config", (42203, *write)),
        Route("DELETE", "/config/{subject}", e.delete_config, "Back to the global config", (), None, (40401, *write)),
        Route("GET", "/mode", e.get_mode, "The global mode"),
        Route("PUT", "/mode", e.put_mode, "Change the global mode", ("force",), "Mode", (42204, *write)),
        Route("DELETE", "/mode", e.delete_mode, "Back to READWRITE", (), None, write),
        Route("GET", "/mode/{subject}", e.get_mode, "A subject's mode", ("defaultToGlobal",), None, (40409,)),
        Route("PUT", "/mode/{subject}", e.put_mode, "Change a subject's mode", ("force",), "Mode", (42204, *write)),
        Route("DELETE", "/mode/{subject}", e.delete_mode, "Back to the global mode", (), None, (40401, *write)),
        Route("GET", "/contexts", e.list_contexts, "All contexts", rows),
        Route("DELETE", "/contexts/{context}", e.delete_context, "Delete an empty context", (), None, (40401, 42211)),
        Route("GET", "/v1/metadata/id", e.metadata_id, "The cluster's name"),
        Route("GET", "/v1/metadata/version", e.metadata_version, "The version of this server"),
        Route(
            "GET",
            "/search",
            e.search,
            "Search subjects, names, fields, docs and tags",
            ("query", "type", "tag", "limit"),
        ),
    ]


def without_context_prefix(parts: list[str], query: dict[str, list[str]]) -> list[str]:
    """`/contexts/.team/subjects/orders` is `/subjects/:.team:orders`; ids and lists get the context as a parameter."""
    if parts[0] != "contexts" or len(parts) < 3:
        return parts
    context, rest = normal_context(parts[1]), parts[2:]
    prefix = "" if context == DEFAULT_CONTEXT else f":{context}:"
    own = [index for index, part in enumerate(rest) if part == "subjects" or (index == 0 and part in SCOPED)]
    if own and own[0] + 1 < len(rest):
        place = own[0] + 1
        if not rest[place].startswith((":.", WILDCARD)):
            rest[place] = prefix + rest[place]
    elif rest[0] in SCOPED:
        rest += [prefix] if prefix else []
    elif rest[:2] == ["schemas", "ids"]:
        subject = (query.get("subject") or [""])[0]
        if not subject.startswith(":."):
            query["subject"] = [prefix + subject]
    elif rest in (["schemas"], ["subjects"]):
        given = (query.get("subjectPrefix") or [""])[0]
        if not given.startswith((":.", WILDCARD)):
            query["subjectPrefix"] = [(prefix or ":.:") + given]
    return rest
