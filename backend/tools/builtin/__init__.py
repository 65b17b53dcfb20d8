"""The tools that come with NanoClaw, one module for each room; `MODULES` lists what is loaded."""

MODULES = ("code", "crawler", "data", "weather", "file_ops", "agent")
