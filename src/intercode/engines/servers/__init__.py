"""Database servers that InterCode owns: private, without a network, gone with their owner."""

from intercode.engines.servers.owned import OwnedServer, ServerKind

__all__ = ["OwnedServer", "ServerKind"]
