"""The ``probe`` fixture: one request of one model, asked, read, classified and recorded."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from ..errors import FatalError, RunError, SpecError, StopSending, StoreError
from . import lookahead
from .status import BRIEF, PROPERTY, brief

if TYPE_CHECKING:
    from ..dispatch import Asked, Asker
    from ..outcome import Outcome
    from ..probe import RequestKey
    from ..report.evidence import Keeper
    from .options import Run


class Probe:
    """What a benchmark test gets. ``ask()`` is all that most need."""

    def __init__(self, key: RequestKey, item: pytest.Item, run: Run):
        self.key, self.run, self._item = key, run, item

    def ask(self) -> Outcome:
        """Ask the model, read the reply, and record the outcome. A wrong answer is data, not a failure.

        Raises:
            AssertionError: the oracle, which reads the rendered evidence, does not find the expected answer: the spec
                or the rendering is wrong.
        """
        outcome = self.outcome
        self._item.user_properties += [(PROPERTY, outcome.to_json()), (BRIEF, brief(outcome))]
        # a suite that withholds evidence says what the rest supports, "" where no program could read it
        wanted = outcome.facts.get("supports", outcome.expected)
        if self.run.models[self.key.model].backend == "oracle" and wanted and outcome.choice != wanted:
            raise AssertionError(
                f"the oracle read {outcome.choice or outcome.notes.get('said') or outcome.error!r} where the key says "
                f"{wanted!r}: this request is not answerable as keyed. isoprobe show {self.key}")
        return outcome

    @cached_property
    def asked(self) -> Asked:
        """The request and its raw replies, stored before anything reads them."""
        try:
            asked = asker(self.run).ask(self.key)
            keeper(self.run).keep(asked.request, asked.responses)
            return asked
        except (FatalError, StoreError, RunError) as error:  # a full disk stays full for every item after this one
            stop(self._item.session, str(error))
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        except StopSending as error:
            stop(self._item.session, str(error))
            pytest.skip(str(error))
        except SpecError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None

    @cached_property
    def outcome(self) -> Outcome:
        """The flat row, not yet recorded."""
        from .. import classify
        from ..readouts.permute import read

        asked, family = self.asked, self.run.build.family(self.key.spec)
        reading = read(asked.replies) if classify.worth_reading(asked.responses) else None
        return classify.outcome(
            asked.request, asked.responses, reading, dataset=family.data.name, view=family.spec.view(self.key.view),
            notes={"from_store": True} if asked.from_store else None)


def stop(session: pytest.Session, reason: str) -> None:
    """End the session after the running item; every reply so far is kept."""
    session.shouldstop = reason


def keeper(run: Run) -> Keeper:
    """What the report's explorer shows of requests, kept in the run's folder."""
    if run.keeper is None:
        from ..report.evidence import Keeper

        run.keeper = Keeper(run.folder)
        run.closers.append(run.keeper.close)
    return run.keeper


def asker(run: Run) -> Asker:
    """The one asker of this process, made when the first item needs it."""
    if run.asker is None:
        from .. import prompts
        from ..backends.meter import Limits
        from ..courier import Courier, Job
        from ..dispatch import Asker
        from ..store import Store

        ahead = lookahead.register(run.config)
        store = Store(run.store_path)
        limits = Limits(max_cost_usd=run.option("max_cost"), max_requests=run.option("max_requests"),
                        share=1 / run.processes)
        run.asker = Asker(run.reachable, store, run.build, prompts.compose, ahead.upcoming, limits,
                          run.events.tell, run=run.id, offline=run.option("replay") is not None,
                          sender=lambda own: Courier(
                              Job(own.remote, run.build, run.store_path, limits, run.id), own.upcoming, own.on_event))
        run.closers.append(store.close)
        run.closers.append(run.asker.close)
    return run.asker
