"""Providers of language models: servers, the offline provider, scripts, chains of them, and the catalogue of all."""
