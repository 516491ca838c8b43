"""What can be wrong with a query: each error is one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Iterable

from caudal.runtime.errors import StreamsError


class ViewError(StreamsError):
    """A store cannot be asked."""


class UnknownStore(ViewError):
    def __init__(self, application_id: str, name: str, known: Iterable[str]) -> None:
        shown = ", ".join(f"'{store}'" for store in sorted(known)) or "none"
        super().__init__(f"'{application_id}' has no store '{name}' that can be asked; it has: {shown}.")


class NoChangelog(ViewError):
    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"Store '{name}' cannot be asked: {why}.")


class NotCaughtUp(ViewError):
    """The view is further behind than the query allows. `behind` is None where the log's end is not known."""

    def __init__(self, name: str, topic: str, behind: int | None, trouble: str | None) -> None:
        self.behind = behind
        how_far = "" if behind is None else f": {behind:,} records behind"
        cause = f" ({trouble})" if trouble else ""
        super().__init__(
            f"The view of store '{name}' has not caught up with topic '{topic}'{how_far}{cause}; ask again later, with "
            "wait=seconds, or with a larger max_lag."
        )
