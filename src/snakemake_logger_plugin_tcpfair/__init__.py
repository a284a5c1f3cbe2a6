"""Snakemake's output under ./reproduce: the number of finished steps, and Snakemake's own errors.

Snakemake loads this module by its name (``--logger tcpfair``). Steps print their own lines, including errors.
"""

from __future__ import annotations

import logging
import sys

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

STEPS = "steps"  # begins the line with the number of finished steps and of all
_OF_STEPS = ("RuleException", "CalledProcessError")  # a step failed, and has printed the reason
_SUM = ("Exiting because a job", "WorkflowError:\nAt least one job")


class LogHandler(LogHandlerBase):
    """Prints to standard output, line by line."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "event", None) == LogEvent.PROGRESS:
            sys.stdout.write(f"{STEPS} {record.done} {record.total}\n")
        elif record.levelno >= logging.ERROR and record.msg and not _is_of_step(record):
            sys.stdout.write(f"{record.getMessage()}\n")
        sys.stdout.flush()


def _is_of_step(record: logging.LogRecord) -> bool:
    return getattr(record, "exception", "") in _OF_STEPS or record.getMessage().startswith(_SUM)
