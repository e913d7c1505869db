"""Memoised, teacher-forced evaluation (App. K): each unique context of a test set is judged once."""

from rotlab.evaluation.evaluator import Evaluator
from rotlab.evaluation.report import Report, WrongSample
from rotlab.evaluation.trace import TracedContext, trace

__all__ = ["Evaluator", "Report", "TracedContext", "WrongSample", "trace"]
