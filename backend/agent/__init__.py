"""The engine, a library: it thinks through a provider, writes to a store, tells a channel and acts through tools."""
