"""Databases by SQLAlchemy: tables into topics (`source`) and topics into tables (`sink`)."""
