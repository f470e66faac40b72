"""Times a tool's own bootstrap over cells of scores: inspect|lm_eval CELLS RESAMPLES SAMPLE. Prints seconds as JSON.

A cell is a list of 0 and 1. Only SAMPLE cells, evenly spread, are timed and the time is scaled to all.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time

if __name__ == "__main__":
    tool, path, resamples, sample = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)
    some = cells[:: max(1, len(cells) // sample)]
    if tool == "inspect":
        from inspect_ai.scorer import SampleScore, Score, bootstrap_stderr

        timed = bootstrap_stderr(num_samples=resamples)
        work = [[SampleScore(score=Score(value=float(v))) for v in cell] for cell in some]
    else:
        os.environ["DISABLE_MULTIPROC"] = "1"  # one process, as the others
        from lm_eval.api.metrics import bootstrap_stderr, mean

        work = some

        def timed(cell):
            return bootstrap_stderr(mean, cell, resamples)

    start = time.process_time()
    with contextlib.redirect_stdout(sys.stderr):
        for cell in work:
            timed(cell)
    took = time.process_time() - start
    rows = sum(map(len, some))
    print(json.dumps({"seconds": took * sum(map(len, cells)) / rows, "cells": len(some), "rows": rows}))
