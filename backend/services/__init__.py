"""The use cases: each function does one thing a person or program asks for, over the tables; no web framework here."""
