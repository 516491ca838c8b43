"""Features in force are within what is supported, and transactions are those of KIP-890."""

from __future__ import annotations

from caudal.broker.controller import features


def test_levels() -> None:
    for name, level in features.finalized().items():
        low, high = features.supported()[name]
        assert low <= level <= high
        assert level > 0, "a feature that is off is not finalized"
    assert features.finalized()["transaction.version"] == 2
    assert features.supported()["metadata.version"][0] >= 1, "clients before ApiVersions 4 refuse a lowest level of 0"
