"""PostgreSQL: an owned server, or a running one by its URL."""

from intercode.engines.postgres.engine import Postgres

__all__ = ["Postgres"]
