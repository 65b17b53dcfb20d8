"""Every test here runs code behind the sandbox's walls."""

from support.walls import closed_at_the_end, needs_walls

__all__ = ["closed_at_the_end", "needs_walls"]
