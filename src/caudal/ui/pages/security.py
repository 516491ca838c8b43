"""Security: who may do what (ACLs) and who there is (users), as far as the cluster says."""

from __future__ import annotations

from typing import Any

from caudal.ui.components import (
    Column,
    PagedTable,
    card,
    empty_state,
    link_tabs,
    page_of,
    query_parameter,
    text,
    url,
)
from caudal.ui.components.table import Page, Query
from caudal.ui.platform import platform
from caudal.ui.services.security import Acl, User, security
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t


@page("/security", title="Security", icon="shield", order=80, shortcut="s")
async def show_security(tab: str = "acls") -> None:
    page_heading(t("Security"))
    here = platform()
    told = await security(here.kafka)
    if not told.acls and not told.users and (told.no_acls or told.no_users):
        _open_cluster(told.no_acls or told.no_users)
        return
    link_tabs(
        {"acls": (t("ACLs"), url("security")), "users": (t("Users"), url("security", tab="users"))}, tab, t("Security")
    )
    if tab == "users":
        await _users(told.users, told.no_users)
    else:
        await _acls(told.acls, told.no_acls)


def _open_cluster(reason: str) -> None:
    """Nothing is secured, which is fine on one's own machine, and what it means elsewhere."""
    with card():
        empty_state(
            "lock_open",
            t("This cluster lets everybody in"),
            t("It has no users and no ACLs: whoever reaches its port may read, write and delete everything."),
        )
        text(t("The broker said: {reason}", reason=reason), "muted text-center text-sm")
    with card(t("What that means")):
        text(t("On your own machine, listening on 127.0.0.1 as `caudal up` does, nobody else reaches it: all is well."))
        text(t("Before you listen on other addresses, put it behind a firewall or use a cluster with TLS and ACLs."))
        text(t("With `--bootstrap` and `-X security.protocol=…` this page shows the ACLs and users of such a cluster."))


async def _acls(acls: list[Acl] | None, reason: str) -> None:
    if acls is None:
        empty_state("policy", t("ACLs are not known"), reason)
        return
    rows = [_acl_row(acl) for acl in acls]

    def load(query: Query) -> Page:
        return page_of(rows, query, lambda row: " ".join(str(row[name]) for name in ("principal", "resource", "host")))

    columns = [
        Column("principal", t("Principal"), kind="mono", sortable=True),
        Column("permission", t("Permission"), kind="badge", sortable=True),
        Column("operation", t("Operation"), sortable=True),
        Column("type", t("On"), sortable=True),
        Column("resource", t("Name"), kind="mono", sortable=True),
        Column("host", t("From host"), kind="mono"),
    ]
    label = t("ACLs")
    table = PagedTable(columns, load, label=label, search=t("Filter by principal, name or host"), empty=_no_rows())
    await table.refresh()


async def _users(users: list[User] | None, reason: str) -> None:
    if users is None:
        empty_state("person_off", t("Users are not known"), reason)
        return
    rows = [{"id": user.name, "name": user.name, "mechanisms": user.mechanisms} for user in users]

    def load(query: Query) -> Page:
        return page_of(rows, query, lambda row: str(row["name"]))

    columns = [
        Column("name", t("User"), kind="mono", sortable=True),
        Column("mechanisms", t("SCRAM mechanisms (iterations)")),
    ]
    await PagedTable(columns, load, label=t("Users"), search=t("Filter users"), empty=_no_rows()).refresh()


def _acl_row(acl: Acl) -> dict[str, Any]:
    allowed = acl.permission == "allow"
    return {
        "principal": acl.principal,
        "permission": {"text": t("allow") if allowed else t("deny"), "tone": "good" if allowed else "bad"},
        "operation": acl.operation,
        "type": acl.resource_type,
        "resource": f"{acl.resource}*" if acl.pattern == "prefixed" and acl.resource != "*" else acl.resource,
        "host": acl.host,
    }


def _no_rows() -> str:
    return t("Nothing matches.") if query_parameter("q") else t("There are none.")
