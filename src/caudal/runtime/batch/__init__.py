"""The batch host: a topology over bounded input, as Spark batch jobs; and tables as Spark DataFrames.

Driver: run (the jobs), stages (what runs after what), bounds (from when to when), result, frames (bytes to typed
columns), changelog_frame (a table from its changelog), publishing (results to Kafka). Python workers: worker, rows,
spool, global_tables. Nothing is imported here, so that a worker loads only what it runs.
"""
