"""Database engines behind one contract: SQLite, MySQL and MariaDB, PostgreSQL, DuckDB."""
