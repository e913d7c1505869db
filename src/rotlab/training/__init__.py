"""Training: the LightningModule, its callbacks, what a run reports; `run.py` reads like a table of contents."""
