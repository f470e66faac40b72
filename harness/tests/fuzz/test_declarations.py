"""Declarations: whatever stands in a YAML file, it is a spec or a SpecError."""

from __future__ import annotations

import contextlib
from itertools import islice
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness import backends
from harness.backends.config import models
from harness.build import Selection, family
from harness.errors import IsoprobeError, SpecError
from harness.spec import declaration, load
from harness.tests.fuzz.strategies import bounded, mutated, quick, replaced
from harness.yamlfile import read_yaml

SPECS = Path(__file__).parents[3] / "specs"
FILES = {"spectra": SPECS / "invariance" / "gold-scope.yaml", "paired": SPECS / "sufficiency" / "panels.yaml"}
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-10, 10_000), st.floats(allow_nan=False), st.text(max_size=8),
              st.sampled_from(["{range}", "{", "nm", "..", "/", "450-605", "minimum"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5)


@bounded(200)
@given(st.one_of(st.binary(max_size=120), st.text(alphabet="a: -[]{}&*!<>|\n\t'\"#%?,0.~=\\", max_size=120).map(
    lambda t: t.encode("utf-8", "surrogatepass"))))
def test_any_bytes_are_yaml_or_a_spec_error(tmp_path, data):
    (tmp_path / "x.yaml").write_bytes(data)
    with contextlib.suppress(SpecError), quick():
        read_yaml(tmp_path / "x.yaml")


@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_spec_is_a_spec_or_a_spec_error(tmp_path, kind):
    @bounded(60)
    @given(mutated(FILES[kind].read_bytes()))
    def holds(data):
        (tmp_path / "x.yaml").write_bytes(data)
        with contextlib.suppress(SpecError), quick():
            load(tmp_path / "x.yaml")

    holds()


@pytest.mark.parametrize("kind", FILES)
def test_a_spec_with_other_values_is_refused_or_lists_its_requests(tmp_path, kind):
    @bounded(50)
    @given(replaced(yaml.safe_load(FILES[kind].read_text("utf-8")), values=PLAIN))
    def holds(data):
        (tmp_path / "x.yaml").write_text(yaml.safe_dump(data, allow_unicode=True), "utf-8")
        with contextlib.suppress(IsoprobeError), quick():
            list(islice(family(load(tmp_path / "x.yaml")).keys(Selection(limit=1)), 50))

    holds()


@bounded(30)
@given(replaced(yaml.safe_load((SPECS / "models.yaml").read_text("utf-8")), values=PLAIN))
def test_models_with_other_values_are_refused_or_configured(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("root")
    (folder / "specs").mkdir()
    (folder / "specs" / "models.yaml").write_text(yaml.safe_dump(data, allow_unicode=True), "utf-8")
    with contextlib.suppress(IsoprobeError), quick():
        for config in models(declaration(folder, "models").data).values():
            assert config.backend in backends.BACKENDS
            assert 64 == len(config.identity_sha256)
