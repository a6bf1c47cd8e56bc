"""Puzzles with a flag: files made by code, and a solution that needs Bash, Python and git alone."""
