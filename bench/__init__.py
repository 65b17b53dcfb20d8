"""Benchmarks: what NanoClaw's promises cost, measured by commands that anyone can repeat."""
