"""Faithful ordinal and linear mixed models for human evaluations."""
__version__ = "0.1.0"
