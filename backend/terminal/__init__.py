"""The product without a browser: one turn in the terminal, and a file of prompts as a batch."""
