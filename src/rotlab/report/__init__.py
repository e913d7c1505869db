"""Runs collected into tables, figures and W&B's pages."""
