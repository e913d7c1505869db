"""Training: the LightningModule, its callbacks, what a run reports, and `run.py`, which reads like a table of contents."""
