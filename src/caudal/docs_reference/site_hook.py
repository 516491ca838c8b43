"""What MkDocs does besides rendering docs/: pages made from the code, diagrams in the page, files of the repository.

- The pages of `caudal.docs_reference` are made while the site is built: they cannot be out of date.
- A diagram (`![…](diagrams/NAME.svg)`) is put into the page itself, so that it follows the theme's light and dark.
- A link that leaves docs/ (`../examples/word_count.py`) leads to a page that shows that file.
- Marks for the tests behind a fence's language (```` ```python needs-broker ````) are taken off.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from caudal.docs_reference import PAGES

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
REPOSITORY = "repository/"  # where pages about files outside of docs/ are
LANGUAGES = {".py": "python", ".json": "json", ".sql": "sql", ".toml": "toml", ".properties": "properties"}
FENCE = re.compile(r"^( *```)([\w-]+) (?!title=)\S.*$", re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^\]\\]|\\.)*)\]\(([^)\s#:]+)((?:#[^)\s]*)?)\)")


def on_files(files: Files, *, config: Any) -> Files:
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    for file in _outside():
        files.append(File.generated(config, _page_of(file), content=_shown(file)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: Any, files: Files) -> str:
    source = page.file.src_uri
    # Where the text stands in the repository: relative links are meant from there.
    origin = source[len(REPOSITORY) :].removesuffix(".md") if source.startswith(REPOSITORY) else f"docs/{source}"
    return LINK.sub(lambda link: _link(link, origin, source), FENCE.sub(r"\1\2", markdown))


def _link(link: re.Match[str], origin: str, source: str) -> str:
    image, text, target, anchor = link.groups()
    file = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    if image and file.endswith(".svg") and (ROOT / file).is_file():
        return _diagram(ROOT / file, text)
    if file.startswith("docs/"):
        page = file.removeprefix("docs/")
    elif (ROOT / file).is_file():
        page = _page_of(ROOT / file)
    else:
        return link[0]
    return f"{image}[{text}]({posixpath.relpath(page, posixpath.dirname(source) or '.')}{anchor})"


def _diagram(file: Path, words: str) -> str:
    """The drawing itself; its own style is for readers of the file, the site's stylesheet has the same classes."""
    drawing = re.sub(r"<style>.*?</style>\n?|<\?xml.*?\?>\n?", "", file.read_text(), flags=re.DOTALL)
    drawing = re.sub(r"<title>.*?</title>\n?", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r"\n\s*\n", "\n", drawing).strip()  # an empty line would end the block
    label = html.escape(words, quote=True)
    return f'<figure class="diagram" role="img" aria-label="{label}" markdown="0">\n{drawing}\n</figure>'


def _outside() -> list[Path]:
    """Files of the repository that a page links to, and those that these link to."""
    found: list[Path] = []
    waiting = sorted(DOCS.rglob("*.md"))
    while waiting:
        page = waiting.pop()
        for link in LINK.finditer(page.read_text()):
            file = (page.parent / link[3]).resolve()
            inside = file.is_relative_to(ROOT) and not file.is_relative_to(DOCS)
            if inside and file.is_file() and file.suffix != ".svg" and file not in found:
                found.append(file)
                if file.suffix == ".md":
                    waiting.append(file)
    return found


def _page_of(file: Path) -> str:
    return f"{REPOSITORY}{file.relative_to(ROOT).as_posix()}.md"


def _shown(file: Path) -> str:
    if file.suffix == ".md":
        return file.read_text()
    name = file.relative_to(ROOT).as_posix()
    language = LANGUAGES.get(file.suffix, "text")
    return f"# {file.name}\n\nThe file `{name}` of the repository.\n\n````{language}\n{file.read_text()}````\n"
