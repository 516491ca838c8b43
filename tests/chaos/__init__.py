"""Tests that end the broker in every way it can end, and look at what is left."""
