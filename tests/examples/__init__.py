"""The examples and the code of the guide, run: in process, and on Spark with a broker (test_on_spark.py)."""
