"""How a stored run becomes work for the engine: transcript, system prompt, tools, provider, and what follows its end."""
