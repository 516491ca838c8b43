"""A screen whose words can be read."""

from __future__ import annotations

import io

from rich.console import Console

from caudal.ksql.shell.screen import Screen


class Seen(Screen):
    def __init__(self) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        super().__init__(
            Console(file=self.out, width=100, highlight=False, markup=False),
            Console(file=self.err, width=100, highlight=False, markup=False),
        )

    @property
    def text(self) -> str:
        return self.out.getvalue()

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.text.splitlines()]
