"""Demonstrations that ship with Caudal: an election night and chess, each from its first event to a checked result."""
