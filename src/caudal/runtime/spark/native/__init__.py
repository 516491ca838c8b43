"""The native lane: an application as one Spark SQL query, Kafka to Kafka, without Python workers.

Read in this order: frames (the plan's text → a streaming DataFrame → the query), host (the life of the query), progress
(finished batches → the group's offsets), diagnosis (which record made Spark fail), choice (lane=… of an application).
"""
