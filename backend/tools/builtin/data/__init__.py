"""The data tools: calculator, text_process and json_process, pure and bounded."""

from .calculator import calculator

__all__ = ["calculator"]
