"""The control center in a real browser, against real servers."""
