"""From counters to rates and latencies: what two samples of the cluster say about the time between them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Records of these are the platform's own housekeeping, not what people send.
OWN_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", "_caudal_metrics")

Partition = tuple[str, int]


def message_rates(before: Mapping[Partition, int], after: Mapping[Partition, int], seconds: float) -> dict[str, float]:
    """Messages per second of every topic that both samples know. A topic made anew (offsets fell) counts from zero."""
    rates: dict[str, float] = {}
    for (topic, number), end in after.items():
        start = before.get((topic, number))
        if start is None or topic in OWN_TOPICS:
            continue
        grown = end - start if end >= start else end
        rates[topic] = rates.get(topic, 0.0) + grown / seconds
    return rates


def counter_rate(before: float | None, after: float | None, seconds: float) -> float | None:
    """Of a counter that starts again at zero with its process."""
    if before is None or after is None:
        return None
    return (after - before if after >= before else after) / seconds


def quantile(before: Mapping[float, float], after: Mapping[float, float], part: float) -> float | None:
    """A quantile of what a histogram counted between two scrapes: cumulative counts by upper bound, as Prometheus has
    them. Linear within a bucket; None when nothing was counted."""
    bounds = sorted(after)
    counts = [after[bound] - before.get(bound, 0.0) for bound in bounds]
    if not counts or counts[-1] < 0:  # the process has started anew
        counts = [after[bound] for bound in bounds]
    if not counts or counts[-1] <= 0:
        return None
    wanted = counts[-1] * part
    lower, below = 0.0, 0.0
    for bound, count in zip(bounds, counts, strict=True):
        if count >= wanted:
            if bound == float("inf"):
                return lower
            return lower + (bound - lower) * (wanted - below) / (count - below)
        lower, below = bound, count
    return lower


def parse_metrics(text: str, names: Iterable[str]) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """The samples of these metrics in a Prometheus page, by their labels. Everything else is passed over unread."""
    wanted = tuple(names)
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {name: {} for name in wanted}
    for line in text.splitlines():
        if not line.startswith(wanted):
            continue
        head, _, value = line.rpartition(" ")
        name, _, labels = head.partition("{")
        if name in found:
            found[name][_labels(labels.rstrip("}"))] = float(value)
    return found


def _labels(text: str) -> tuple[tuple[str, str], ...]:
    # The labels that we ask for (api, le) hold no commas or quotes.
    pairs = (part.partition("=") for part in text.split(",") if part)
    return tuple(sorted((name, value.strip('"')) for name, _, value in pairs))
