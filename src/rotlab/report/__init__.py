"""Reports: runs collected from their manifests and metrics, statistics beside the paper's, tables, figures, pages.

Nothing here trains or loads a network, so that a report takes seconds; only `lengths` solves problems.
"""
