"""Copies of clusters, as MirrorMaker 2 makes them: topics with records and settings, group offsets, heartbeats."""
