"""Plans at work: the task interpreter, its operators and stores, and the hosts that feed it.

`task.Task` is pure: bytes of records in, bytes of records out, state in the stores it was given. Hosts are
`test_driver` (in process) and `spark`.
"""
