"""InterCode's own Bash suite: three invented file systems, and tasks over each.

One module per file system says what lies in it (``entries()``); the TOML file of the same name
beside it holds its tasks, because shell code is best read without a second layer of quoting.
"""
