"""The one `Topics` of this process, so that what was asked for all topics is shared by all visitors."""

from __future__ import annotations

from caudal.ui.platform import Platform, platform
from caudal.ui.services.topics import Topics

_made: dict[Platform, Topics] = {}


def topics() -> Topics:
    """That of the platform of this process."""
    here = platform()
    if here not in _made:
        _made.clear()
        _made[here] = Topics(here.kafka)
    return _made[here]
