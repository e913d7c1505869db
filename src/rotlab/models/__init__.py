"""Backbones: one short file each; what one must offer stands in `backbone.py`."""

from rotlab.models.backbone import BACKBONES, Backbone, build_backbone, parameter_count

__all__ = ["BACKBONES", "Backbone", "build_backbone", "parameter_count"]
