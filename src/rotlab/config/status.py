"""How a run stands, as manifests and a sweep's table say it."""

RUNNING = "running"  # also what a killed process leaves
FINISHED = "finished"
INTERRUPTED = "interrupted"
FAILED = "failed"
REFUSED = "refused"
# A job of a sweep whose contexts are longer than the window: a result, not a failure.
DOES_NOT_FIT = "does not fit"
