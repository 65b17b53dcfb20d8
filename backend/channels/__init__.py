"""Whom a run tells: the event log of the product, the console, or a list in memory."""
