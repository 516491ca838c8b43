"""The broker: from the socket to the disk. ARCHITECTURE.md follows one record through these files."""

from __future__ import annotations

import sys


def _load_kio_alone() -> None:
    """Loads kio's primitives with hypothesis out of sight: where it is installed, kio imports it (0.15 s, 20 MB)."""
    if "kio.static.primitive" in sys.modules or "hypothesis" in sys.modules:
        return
    sys.modules["hypothesis"] = None  # type: ignore[assignment]
    try:
        import kio.static.primitive  # noqa: F401
    finally:
        del sys.modules["hypothesis"]


_load_kio_alone()
