"""Tests of rotlab.config."""
