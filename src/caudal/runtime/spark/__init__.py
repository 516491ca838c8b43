"""The Spark host: one Structured Streaming query that feeds the tasks of one or several applications.

Driver: host (the query and its supervisor), keeper (the member of the group), topics, offsets, session, slots, link
(what workers ask). Python workers: lane (a slot's rows), hosted_task (a task with its producer and state), commits,
restore, global_tables. Nothing is imported here, so that a worker loads only what it runs.
"""
