"""The sink for files and object stores: records of topics as JSON lines, CSV, Parquet or Avro files, exactly once.

One writer per partition of a topic (`partition_writer.py`) collects records until a cut, then puts the files of that
stretch into the store (`storage.py`), each under the offset of its first record and each at once or not at all; only
then may the offsets be committed. A run that died between the two reads the same records again and writes the same
files over themselves, so every record is in exactly one file.
"""
