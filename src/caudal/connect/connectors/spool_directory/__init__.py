"""A folder of files, each read once into a topic and then moved away: JSON lines, JSON, CSV or plain lines."""
