"""The connectors that come with Caudal: one file, or one folder, each."""
