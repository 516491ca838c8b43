"""The three schema languages: parsing, identity, evolution. Pure: no sockets, no topics.

`parse` makes a ParsedSchema of a text; the rest of the registry knows no language by name.
"""
