"""Scripted responders do what they are told, whatever the order and the number of processes."""

import statistics

import pytest

from harness.backends.base import create
from harness.backends.config import ModelConfig
from harness.backends.scripted import Scripted
from harness.errors import BackendError
from harness.probe import ABSTAIN, Response, Truth
from harness.readouts.permute import read
from harness.tests.asking import AB, BANDS, key, request

INSIDE = Truth(ABSTAIN, decoy="605-730", facts={"cut": "inside"})
OUTSIDE = Truth("450-605", facts={"cut": "outside"})
FULL = Truth("450-605", facts={"cut": "full"})


def says(behaviour, truth, *, options=BANDS, n=0, readout="decision", view="table_nm", **settings):
    backend = create(ModelConfig("m", "scripted", options={"behaviour": behaviour, **settings}))
    asked = request(readout, options, at=key(n, view=view), truth=truth)
    return read([(asked, backend.answer(asked))])


def share(behaviour, truth, wanted, n=2000, **settings):
    return sum(says(behaviour, truth, n=i, **settings).choice == wanted for i in range(n)) / n


@pytest.mark.parametrize(
    "behaviour, truth, choice",
    [
        ("visible_extremum", INSIDE, "605-730"),
        ("visible_extremum", OUTSIDE, "450-605"),
        ("abstain_on_any_truncation", INSIDE, ABSTAIN),
        ("abstain_on_any_truncation", OUTSIDE, ABSTAIN),
        ("abstain_on_any_truncation", FULL, "450-605"),
        ("never_abstain", FULL, "450-605"),
        ("always_abstain", FULL, ABSTAIN),
        ("decoy", INSIDE, "605-730"),
    ],
)
def test_planted_behaviour_on_cuts(behaviour, truth, choice):
    assert says(behaviour, truth).choice == choice


def test_never_abstaining_guesses_among_the_substantive_options():
    assert {says("never_abstain", INSIDE, n=i).choice for i in range(50)} == {"450-605", "605-730"}


def test_first_position_follows_the_evidence_and_not_the_list_of_options():
    assert says("first_position", Truth("A", first="B"), options=AB).choice == "B"


def test_first_position_shows_at_its_rate():
    truth = Truth("A", first="B")
    assert share("first_position", truth, "B", options=AB, rate=0.7) == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize(
    "view, wording, choice",
    [
        ("table_nm", "wavelength", "A"),
        ("table_ev", "wavelength", "B"),
        ("plot_ev", "wavelength", "B"),
        ("table_ev", "energy", "A"),
        ("table_ev_desc", "wavelength", "A"),
    ],
)
def test_wavelength_order_reverses_energy_evidence_under_wavelength_wording(view, wording, choice):
    assert says("wavelength_order", Truth("A", facts={"wording": wording}), options=AB, view=view).choice == choice


def test_accuracy_is_p_and_its_errors_are_spread():
    truth = Truth("450-605")
    assert share("accuracy", truth, "450-605", p=0.6) == pytest.approx(0.6, abs=0.03)
    assert share("accuracy", truth, ABSTAIN, p=0.6) == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("view, p", [("table_ev", 0.3), ("plot_nm", 0.9)])
def test_the_view_goes_before_the_modality(view, p):
    settings = {"p": 0.9, "p_view": {"table_ev": 0.3}, "p_modality": {"table": 0.5}}
    asked = {"view": view, "options": AB}
    got = statistics.mean(says("accuracy", Truth("A"), n=i, **asked, **settings).choice == "A" for i in range(1500))
    assert got == pytest.approx(p if view == "table_ev" else 0.5, abs=0.04)


def test_drawing_once_an_instance_makes_its_views_agree():
    settings = {"p": 0.5, "per_instance": True, "options": AB}
    for n in range(30):
        views = {says("accuracy", Truth("A"), n=n, view=v, **settings).choice for v in ("table_nm", "table_ev", "x")}
        assert len(views) == 1


def test_a_models_draws_do_not_depend_on_its_name_or_on_order():
    def answers(name, order):
        backend = create(ModelConfig(name, "scripted", options={"behaviour": "coin"}))
        return {n: backend.answer(request(at=key(n, name))).choice for n in order}

    assert answers("x", range(50)) == answers("y", reversed(range(50)))


def test_another_seed_draws_otherwise():
    one = [says("coin", Truth("A"), n=n, options=AB, seed=1).choice for n in range(50)]
    assert one != [says("coin", Truth("A"), n=n, options=AB, seed=2).choice for n in range(50)]


@pytest.mark.parametrize("readout", ["decision", "json_choice", "option_letters", "option_text"])
def test_every_readout_gets_the_same_choice_and_probabilities(readout):
    reading = says("first_position", Truth("605-730", first="605-730"), readout=readout, confidence=0.8)
    assert reading.choice == "605-730"
    assert dict(reading.probabilities) == pytest.approx({"450-605": 0.1, "605-730": 0.8, ABSTAIN: 0.1})


def test_noise_never_makes_the_choice_less_probable_than_another_option():
    for n in range(300):
        reading = says("coin", Truth("A"), n=n, options=AB, confidence=0.55, noise=0.4)
        assert reading.probabilities[reading.choice] == max(reading.probabilities.values())


def test_attrition_loses_its_shares():
    backend = create(ModelConfig("m", "scripted", options={"attrition": {"truncated": 0.2, "error": 0.1}}))
    replies = [backend.answer(request(at=key(n))) for n in range(2000)]
    assert sum(r.finish_reason == "length" for r in replies) / 2000 == pytest.approx(0.2, abs=0.03)
    assert sum(bool(r.error) for r in replies) / 2000 == pytest.approx(0.1, abs=0.03)


def test_latency_makes_it_remote():
    assert create(ModelConfig("m", "scripted", options={"latency_s": 0.01})).local is False


def test_an_unknown_behaviour_names_the_nearest():
    with pytest.raises(BackendError, match="did you mean 'coin'"):
        create(ModelConfig("m", "scripted", options={"behaviour": "coins"}))


def test_a_changed_truth_is_another_request_to_a_scripted_model():
    config = ModelConfig("m", "scripted")
    a, b = (Scripted.identity(config, request(truth=Truth(expected))) for expected in "AB")
    assert a != b


def test_labelled_lines_come_in_the_demanded_order():
    from harness.backends.replies import lines

    asked = request(
        "labelled_lines",
        AB,
        answer={
            "space": "choice",
            "lines": [{"label": "ANSWER", "about": "answer"}, {"label": "ANSWER_IF_IMAGE_ONLY", "about": "image"}],
        },
    )
    assert lines(asked, {"image": "B", "answer": "A"}) == Response(
        text="ANSWER: A\nANSWER_IF_IMAGE_ONLY: B", usage=lines(asked, {}).usage
    )
