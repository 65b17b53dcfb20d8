"""NanoClaw's engine without a database: the loop, guards and tools, recorded in memory only."""

from . import nanoclaw  # first: it finds the project

# isort: split
from backend.channels.memory import MemoryChannel
from backend.stores.memory import MemoryStore


class Adapter(nanoclaw.Adapter):
    def open_store(self):
        self.channel = MemoryChannel()

    def store(self, run_id):
        return MemoryStore()
