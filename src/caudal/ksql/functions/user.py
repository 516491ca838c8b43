"""placeholder"""

from __future__ import annotations
from collections.abc import Sequence


def folders() -> tuple[str, ...]:
    return ()


def load_folders(paths: Sequence[str]) -> None:
    pass


def load_configured() -> None:
    pass
