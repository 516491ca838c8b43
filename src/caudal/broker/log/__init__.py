"""The storage engine: one folder of partitions, each a list of segments, in Kafka's published file formats.

Reading order: config → indexes, aborted, producer_state, leader_epochs, checkpoints (the files beside the records)
→ segment → recovery → retention → log (one partition) → cleaner, cleaner_process (compaction) → store (all of them).
"""
