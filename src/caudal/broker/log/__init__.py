"""The storage engine: one folder of partitions, each a list of segments, in Kafka's published file formats.

Reading order: config → indexes, aborted, producer_state, leader_epochs, checkpoints (the files beside the records)
→ segment → recovery → retention → reader, log (one partition) → batch_rewrite, cleaner_process, cleaner (compaction)
→ store (all of them).
"""
