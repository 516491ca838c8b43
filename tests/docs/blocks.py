"""The blocks of code of the documentation's pages, as the tests see them.

A block is a fence with a language. The tests know three things more about it:

- a title (```` ```python title="hello.py" ````): the block is a file of that name, which later commands may use;
- a second word (```` ```python needs-broker ````): a mark for the test that a page has of its own;
- a comment on the line above, invisible to readers: `<!-- not run: REASON -->`, `<!-- fails -->` (every command of the
  block must), `<!-- in the background -->` (it runs until the page ends).

A `text` block right behind another one is what that one prints. Blocks by indentation are left out: they are found as
commands only (test_commands.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(
    r'^(?P<indent> *)```(?P<language>[\w-]*)(?: title="(?P<title>[^"]+)")?(?: (?P<mark>[\w-]+))?\n'
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
COMMENT = re.compile(r"<!-- (not run|fails|in the background)(?:: ([^>]*?))? -->\n*\Z")


@dataclass(frozen=True, slots=True)
class Block:
    page: str  # below docs/
    line: int
    language: str
    text: str
    title: str | None = None
    mark: str | None = None
    note: str | None = None  # not run, fails, in the background
    reason: str | None = None  # why it is not run
    is_output: bool = False

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def blocks_of(page: str) -> list[Block]:
    return list(_read(page, (DOCS / page).read_text()))


def _read(page: str, text: str) -> Iterator[Block]:
    end = 0
    for fence in FENCE.finditer(text):
        before = text[end : fence.start()]
        comment = COMMENT.search(before)
        indent = fence["indent"]
        body = re.sub(rf"^{indent}", "", fence["text"], flags=re.MULTILINE) if indent else fence["text"]
        yield Block(
            page,
            text.count("\n", 0, fence.start()) + 1,
            fence["language"],
            body,
            fence["title"],
            fence["mark"],
            comment[1] if comment else None,
            comment[2] if comment else None,
            end > 0 and fence["language"] == "text" and not before.strip(),
        )
        end = fence.end()
