"""isoprobe show prints what a model receives, and says what it could not find."""

from pathlib import Path

import pytest

from harness.build import Asked, family
from harness.cli import main
from harness.cli.show import describe, find
from harness.errors import KeyLookupError
from harness.spec import load_all

SPECS = load_all(Path(__file__).parents[3], ["gold-main"])


def test_a_table_request_is_shown_as_the_text_that_a_chat_model_gets():
    spec, key = find(SPECS, "compare-000-orig-longer-axis table_ev")
    request = family(spec).build(key, Asked("m"))
    head, _, body = describe(request).partition("--- user\n")
    named = head.startswith("--- gold-main/compare/compare-000/orig-longer-axis/table_ev/plain/0/")
    assert (body, named) == (request.text, True)


def test_an_image_is_written_as_the_bytes_that_are_sent(tmp_path, capsys):
    command = ["show", "threshold-000-orig-wavelength", "plot_nm", "--spec", "gold-main"]
    assert main([*command, "--image", str(tmp_path / "p.png")]) == 0
    spec, key = find(SPECS, "threshold-000-orig-wavelength plot_nm")
    assert (tmp_path / "p.png").read_bytes() == family(spec).build(key, Asked("m")).images[0].image
    assert "[image/png, " in capsys.readouterr().out


@pytest.mark.parametrize("text, message", [
    ("compare-000-orig-longer-axes table_ev", "did you mean"),
    ("compare-000-orig-longer-axis table_ec", "'table_ec' is no view of gold-main; did you mean 'table_ev'?"),
    ("compre-000-orig-longer-axis table_ev", "did you mean 'compare-000-orig-longer-axis'?"),
    ("compare-000", "fits 40 requests; say which"),
    ("gold-mian/compare/compare-000/orig-longer-axis/table_ev/plain/0/m", "no spec 'gold-mian'; did you mean 'gold-main'?"),
])
def test_a_key_that_names_nothing_or_too_much_is_answered_with_what_would_do(text, message):
    with pytest.raises(KeyLookupError) as caught:
        find(SPECS, text)
    assert message in str(caught.value)


def test_an_error_is_one_line_on_stderr_and_status_2(capsys):
    assert main(["show", "nothing", "--spec", "gold-mian"]) == 2
    assert capsys.readouterr().err.startswith("isoprobe show: --spec: 'gold-mian' is not a spec; did you mean 'gold-main'?")
