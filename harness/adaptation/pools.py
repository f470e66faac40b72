"""Training requests: the same task code, words and tables as the test sets, on structures that no test set has.

``PoolFamily`` builds one polarization of a pool; ``requests`` puts an arm's pools together and splits off the
development requests. A structure counts as the same under both polarizations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..build import Asked, Selection, SpectraFamily, family
from ..errors import AdapterError, DataError
from ..probe import Request
from ..spec import Spec, load_all
from ..spectrum import Spectrum
from .spec import Arm, PoolSpec, load_pool, pool_files

DEVELOPMENT = 100
"""Of 1,000 (appendix A)."""
POLARIZED = "{}-polarized"


@dataclass(frozen=True, slots=True)
class Split:
    """Requests of an arm; ``shared`` are structures in both parts (8 in the paper's ftC, 11 in its ftD)."""

    train: tuple[Request, ...]
    development: tuple[Request, ...]
    shared: tuple[str, ...]


def in_development(instance: str) -> bool:
    """SHA-256 of the instance id, as a number, modulo 1,000 below 100 (appendix A)."""
    return int(hashlib.sha256(instance.encode()).hexdigest(), 16) % 1000 < DEVELOPMENT


class PoolFamily(SpectraFamily):
    """One polarization of a pool, without the structures in ``taken``."""

    def __init__(self, spec: Spec, taken: set[str]):
        super().__init__(spec)
        self.taken = taken

    def _spectra(self) -> tuple[Spectrum, ...]:
        return tuple(s for s in super()._spectra() if s.id not in self.taken)


class Pool:
    """A pool with its instances drawn.

    Raises:
        DataError: the data do not fill the counts.
        AdapterError: a structure of a test set occurs; names the structures.
    """

    def __init__(self, spec: PoolSpec, root: Path):
        self.spec, self.root = spec, root
        pools = pool_files(root)
        tests = [n for n in spec.disjoint_from if n not in pools]
        self.tests = {s.name: family(s).structures for s in load_all(root, tests)} if tests else {}
        others = {n: load(n, root).structures for n in (*spec.disjoint_from, *spec.may_share) if n in pools}
        must = set().union(*self.tests.values(), *(others[n] for n in spec.disjoint_from if n in others))
        may = set().union(*(others[n] for n in spec.may_share))
        (like,) = load_all(root, [spec.like])
        self.families: list[PoolFamily] = []
        used: set[str] = set()
        for polarization in spec.polarizations:
            self.families.append(self._draw(like, polarization, must | used, may))
            used |= self.families[-1].structures
        check_disjoint(spec.name, used, self.tests)

    def _draw(self, like: Spec, polarization: str, must: set[str], may: set[str]) -> PoolFamily:
        declared = derive(like, self.spec, polarization)
        fresh = PoolFamily(declared, must | may)
        try:
            fresh.check()
            return fresh
        except DataError:
            if not may:
                raise
        again = PoolFamily(declared, must)
        again.check()
        return again

    @property
    def structures(self) -> set[str]:
        return set().union(*(f.structures for f in self.families))

    def requests(self, views: Sequence[str], readout: str) -> list[Request]:
        """Every request of the pool in these views, in the order of instances."""
        model = Asked("", sees_images=False, readout=readout)
        return [f.build(key, model) for f in self.families for key in f.keys(Selection(views=tuple(views)), False)]

    def structures_of(self, instance: str) -> set[str]:
        for f in self.families:
            if instance in f.instances:
                return {s.id for s in f.instances[instance][0].evidence}
        raise KeyError(instance)


def check_disjoint(pool: str, used: Iterable[str], tests: dict[str, set[str]]) -> None:
    """Raises AdapterError naming the structures that a pool shares with a test set."""
    used = set(used)
    for name, structures in tests.items():
        if common := sorted(used & structures):
            some = ", ".join(common[:10]) + (f" and {len(common) - 10} more" if len(common) > 10 else "")
            raise AdapterError(f"pool {pool!r} shares {len(common)} structures with the test set {name!r}: {some}; "
                               f"training on them would show in its scores. Put {name!r} into 'disjoint_from'")


def derive(like: Spec, pool: PoolSpec, polarization: str) -> Spec:
    """The probe family that one polarization of a pool is: that of ``like`` with other seed, counts and ids."""
    data = dict(like.data)
    old = next((p for p in "xy" if POLARIZED.format(p) in data["evidence"]["context"]), "")
    context = data["evidence"]["context"].replace(POLARIZED.format(old), POLARIZED.format(polarization))
    data["evidence"] = {**data["evidence"], "context": context}
    by_kind = {t.kind: t for t in like.tasks}
    tasks = []
    for kind, count in pool.tasks.items():
        if kind not in by_kind:
            raise DataError(f"pool {pool.name}: tasks.{kind}: family {like.name!r} has no such task; valid: "
                            f"{', '.join(by_kind)}")
        task = by_kind[kind]
        params = task.params if pool.min_samples is None else {**task.params, "min_samples": pool.min_samples}
        prefix = f"{pool.prefix}-{polarization}-{task.prefix}"
        tasks.append(replace(task, instances=count, prefix=prefix, params=params))
    return replace(like, name=f"{pool.name}-{polarization}", file=f"pool {pool.name}", lines={}, seed=pool.seed,
                   dataset={**like.dataset, "polarization": polarization}, exclude=(), tasks=tuple(tasks), data=data,
                   views=tuple(like.view(v) for v in pool.views), sha256=f"{like.sha256}+{pool}+{polarization}")


@lru_cache(maxsize=16)
def load(name: str, root: Path) -> Pool:
    """The pool of that name, drawn once in each process."""
    return Pool(load_pool(name, root), root)


def split(arm: Arm, root: Path, readout: str) -> Split:
    """All requests of an arm's pools, divided by the hash of their instance ids.

    Raises:
        AdapterError: the development split is empty, so no epoch could be judged; or too few requests to sample from.
    """
    pools = [load(name, root) for name in arm.pools]
    train: list[Request] = []
    development: list[Request] = []
    structures: tuple[set[str], set[str]] = (set(), set())
    for pool in pools:
        for request in pool.requests(arm.views, readout):
            part = in_development(request.key.instance)
            (development if part else train).append(request)
            structures[part].update(pool.structures_of(request.key.instance))
    if not development:
        ids = len({r.key.instance for r in train})
        raise AdapterError(f"arm {arm.name}: the development split is empty: none of the {ids} instances of "
                           f"{', '.join(arm.pools)} has a SHA-256 modulo 1,000 below {DEVELOPMENT}; "
                           "give the pools more instances or another prefix")
    if arm.sample and arm.sample > len(train):
        raise AdapterError(f"arm {arm.name}: sample {arm.sample} exceeds the {len(train)} training requests of its "
                           "pools; lower it or leave it out")
    return Split(tuple(train), tuple(development), tuple(sorted(structures[0] & structures[1])))


def sampled(arm: Arm, train: Sequence[Request], seed: int) -> list[Request]:
    """What one seed trains on: everything, or ``arm.sample`` requests drawn without replacement with that seed."""
    if not arm.sample:
        return list(train)
    chosen = np.random.default_rng(seed).choice(len(train), arm.sample, replace=False)
    return [train[i] for i in chosen]
