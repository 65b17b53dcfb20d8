"""The data tools: calculator, text_process and json_process, pure and bounded."""

from .calculator import calculator
from .json_process import json_process
from .text import text_process

__all__ = ["calculator", "json_process", "text_process"]
