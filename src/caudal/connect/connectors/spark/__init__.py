"""Any Spark data source or sink as a connector, run as a Structured Streaming query in a process of its own."""
