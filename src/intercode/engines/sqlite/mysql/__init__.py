"""MySQL spoken to SQLite: an agent taught MySQL is at home.

A statement is parsed (by sqlglot, with every function left as it is written), its names are looked
up and its expressions typed as MySQL types them, and it is written for SQLite with functions and a
collation of our own, which behave as MySQL's; rows come back with MySQL's types.
"""
