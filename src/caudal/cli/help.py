"""The list of commands as a person reads it: by what they are for, in the order in which one meets them.

A command that is not named here stands under "More", so adding one needs no edit.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

GROUPS = {
    "Servers": ("up", "broker", "registry", "connect", "ksql-server", "ui"),
    "Administration": ("topic", "group", "schema", "connector", "cluster", "acl", "user"),
    "Data": ("produce", "consume"),
    "SQL": ("ksql", "ksql-test"),
    "Applications": ("run", "pipeline"),
    "Demonstrations": ("demo",),
    "Tools": ("doctor", "bench", "completion"),
}
MORE = "More"
SENTENCE = 200  # characters: the whole first sentence, on more than one line where need be


class GroupedHelp(TyperGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        known = {name: command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))}
        shown = [name for name, command in known.items() if not command.hidden]
        listed = {name for names in GROUPS.values() for name in names}
        groups = {**GROUPS, MORE: tuple(name for name in shown if name not in listed)}
        longest = max(map(len, shown), default=0)
        for title, names in groups.items():
            rows = [(name.ljust(longest), known[name].get_short_help_str(SENTENCE)) for name in names if name in shown]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
