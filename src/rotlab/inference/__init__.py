"""Free-running inference: a batched recursive engine (App. B)."""
