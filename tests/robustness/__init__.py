"""Tests that send the broker, and lay in its way, what no decent client would."""
