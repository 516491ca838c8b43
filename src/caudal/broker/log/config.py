"""What a log needs to know of its topic's configuration, typed, with Kafka's defaults.

Parsing, validation and documentation of the properties live in broker/config; this is only their result. A log's
config is replaced as a whole when the topic's configuration changes. Tiered storage is not supported.
"""

from __future__ import annotations

from dataclasses import dataclass

FOREVER = 2**63 - 1
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class LogConfig:
    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    cleanup_policy: frozenset[str] = frozenset({"delete"})
    delete_retention_ms: int = DAY_MS
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = FOREVER
    max_message_bytes: int = 1048588
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = FOREVER
    message_timestamp_after_max_ms: int = 3_600_000
    flush_messages: int = FOREVER
    flush_ms: int = FOREVER
    file_delete_delay_ms: int = 60_000
    min_insync_replicas: int = 1
    preallocate: bool = False
    unclean_leader_election_enable: bool = False
    key_subject_strategy: str | None = None  # set where keys must carry a registered schema
    value_subject_strategy: str | None = None

    @property
    def compact(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def roll_ms(self) -> int:
        """The age at which a segment is closed: a compacted topic must not hold a record back longer than its lag."""
        if self.compact:
            return min(self.segment_ms, max(self.max_compaction_lag_ms, 0))
        return self.segment_ms


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """What the whole folder needs from the broker's configuration; the comments name the properties."""

    retention_check_interval_ms: int = 300_000  # log.retention.check.interval.ms
    checkpoint_interval_ms: int = 60_000  # log.flush.offset.checkpoint.interval.ms
    flush_check_interval_ms: int = 1_000  # how closely flush.ms is kept (log.flush.scheduler.interval.ms)
    health_check_interval_ms: int = 10_000  # ours: how soon a deleted folder is noticed without a write
    cleaner_enable: bool = True  # log.cleaner.enable
    cleaner_backoff_ms: int = 15_000  # log.cleaner.backoff.ms
    cleaner_dedupe_buffer_bytes: int = 128 << 20  # log.cleaner.dedupe.buffer.size
    cleaner_io_max_bytes_per_second: float = float("inf")  # log.cleaner.io.max.bytes.per.second
    producer_id_expiration_ms: int = DAY_MS  # producer.id.expiration.ms
    producer_id_expiration_check_interval_ms: int = 600_000  # producer.id.expiration.check.interval.ms
