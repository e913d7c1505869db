"""Data: the endless stream of training batches, the test set, and the LightningDataModule that serves both."""
