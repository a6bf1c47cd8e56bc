"""InterCode's own suites: three invented file systems, four invented databases, tasks over each.

One module per file system says what lies in it (``entries()``), one per database what it holds
(``sql()``); the TOML file of the same name beside it holds its tasks, because shell code and SQL
are best read without a second layer of quoting.
"""
