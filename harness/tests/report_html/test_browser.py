"""The page in headless Chromium. ``CHROMIUM`` names the browser where it is not on the path."""

from __future__ import annotations

import importlib.util

import pytest

from harness.outcome import Outcome
from harness.report.publish import publish
from harness.report.recorded import load
from harness.tests.report_html import browser, runs
from harness.tests.validity.synthetic import row

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.find() is None, reason="no Chromium found; install chromium or set CHROMIUM"),
    pytest.mark.skipif(importlib.util.find_spec("websockets") is None, reason="needs the package websockets"),
]
ROWS = "document.querySelectorAll('#list tbody tr').length"
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>\u2028{{7*7}}"


@pytest.fixture(scope="module")
def page():
    with browser.browse() as page:
        page.size(1280)
        yield page


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    runs.recorded(folder, {"good": runs.right, "ev-blind": runs.wrong_in("table_ev")})
    found = load(folder)
    publish(folder, found.outcomes, found.run)
    return folder


@pytest.fixture
def url(folder, page) -> str:
    page.messages.clear()
    page.call("Page.navigate", url="about:blank")
    return (folder / "report.html").as_uri()


def test_the_page_loads_without_a_word_on_the_console_and_without_the_network(page, url):
    page.requests.clear()
    page.open(url)
    assert page.messages == []
    assert [r for r in page.requests if not r.startswith(("file:", "data:"))] == []


def test_filters_narrow_the_list(page, url):
    page.open(f"{url}#/explore")
    everything = page.run(ROWS)
    page.run(
        "(() => { const s = document.getElementById('f-answer'); s.value = 'wrong'; "
        "s.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    assert (everything, page.run(ROWS)) == (36, 6)
    assert page.run("location.hash") == "#/explore?answer=wrong"


def test_what_failed_most_opens_exactly_the_requests_that_it_counts(page, tmp_path):
    statuses = ["usable"] * 7 + ["unparsed"] * 5 + ["lost"]  # of the usable, two are wrong
    made = [row(instance=f"i{i}", view="table_ev", wording="wavelength", status=status, choice="B" if i < 2 else "A")
            for i, status in enumerate(statuses)]
    made += [row(instance=f"i{i}", view="table_ev", wording="energy", variant="energy", choice="B") for i in range(3)]
    publish(tmp_path, made, {**runs.RUN, "models": {"m": {}}}, pictures=False)
    page.open((tmp_path / "report.html").as_uri())
    item = "document.querySelector('li:has(a.js)')"
    assert "2 wrong, 5 not readable of 12 requests" in page.run(f"{item}.textContent")
    page.run(f"location.hash = {item}.querySelector('a').getAttribute('href')")
    page.wait("!document.getElementById('explore').hidden")
    assert page.run(ROWS) == 7


def test_flipped_requests_are_those_whose_views_disagree(page, url):
    page.open(f"{url}#/explore?flipped=yes")
    assert page.run("[...document.querySelectorAll('#list tbody tr')].every(r => r.textContent.includes('ev-blind'))")
    assert page.run(ROWS) == 18


def test_a_deep_link_opens_its_request(page, url):
    key = "gold-scope/scope/suffq-000/full/table_ev/plain/0/ev-blind"
    page.open(f"{url}#/r/{key}")
    assert page.run("document.querySelector('#request h2').textContent") == key
    assert "Question:" in page.run("document.getElementById('request').textContent")
    assert page.messages == []


def test_the_other_views_stand_beside_it_with_the_differing_ones_marked(page, url):
    page.open(f"{url}#/r/gold-scope/scope/suffq-000/full/table_ev/plain/0/ev-blind")
    assert page.run("document.querySelectorAll('.views .card').length") == 3
    assert page.run("document.querySelectorAll('.views .differs').length") == 2


def test_the_queried_interval_and_the_removed_part_are_shaded_outside_of_what_the_model_saw(page, url):
    page.open(f"{url}#/r/gold-scope/scope/suffq-000/cut_in_hide_middle/plot_nm/plain/0/good")
    assert page.run("document.querySelectorAll('.plot .span, .plot .gone').length") == 2
    assert page.run("document.querySelectorAll('.shown .span').length") == 0


def test_the_picture_is_the_one_that_the_model_received(page, url):
    page.open(f"{url}#/r/gold-scope/scope/suffq-000/full/plot_nm/plain/0/good")
    page.wait("document.querySelector('.shown img').naturalWidth > 0")
    assert page.run("document.querySelector('.shown img').naturalWidth") == 800


def test_an_unknown_key_says_so(page, url):
    page.open(f"{url}#/r/no/such/key")
    assert "No such request" in page.run("document.getElementById('request').textContent")


def test_tables_sort_by_their_numbers_both_ways(page, url):
    page.open(url)
    cells = "[...document.querySelectorAll('#t-scope_by_view tbody tr')].map(r => Number(r.cells[4].dataset.v))"
    button = "document.querySelectorAll('#t-scope_by_view th button')[4].click()"
    page.run(button)
    rising = page.run(cells)
    page.run(button)
    assert rising == sorted(rising)
    assert page.run(cells) == sorted(rising, reverse=True)
    assert page.run("document.querySelectorAll('#t-scope_by_view th')[4].getAttribute('aria-sort')") == "descending"


def test_keys_step_through_the_list_and_back_to_it(page, url):
    page.open(f"{url}#/explore?answer=wrong")
    page.run("document.querySelector('#list tbody a').click()")
    page.wait("!document.getElementById('request').hidden")
    first = page.run("location.hash")
    page.press("ArrowRight")
    page.wait(f"location.hash !== '{first}'")
    page.press("Escape")
    page.wait("!document.getElementById('explore').hidden")
    assert page.run("location.hash") == "#/explore?answer=wrong"


def test_the_heading_of_an_opened_request_has_the_focus(page, url):
    page.open(f"{url}#/r/gold-scope/scope/suffq-000/full/table_nm/plain/0/good")
    assert page.run("document.activeElement.id") == "h-request"


def test_every_control_has_a_name(page, url):
    page.open(f"{url}#/explore")
    unnamed = page.run(
        "[...document.querySelectorAll('select, input, button')].filter(n => "
        "!n.labels?.length && !n.textContent.trim() && !n.getAttribute('aria-label')).length"
    )
    assert unnamed == 0


@pytest.mark.parametrize("dark", [False, True])
def test_text_keeps_its_contrast_in_light_and_dark(page, url, dark):
    page.size(1280, dark=dark)
    page.open(url)
    light = """(() => { const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => { v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const paper = lum(getComputedStyle(document.body).backgroundColor);
      return [...document.querySelectorAll('p, a, td, h2, .soft, .ci')].map(n => lum(getComputedStyle(n).color))
        .map(t => (Math.max(t, paper) + 0.05) / (Math.min(t, paper) + 0.05)).reduce((a, b) => Math.min(a, b)); })()"""
    worst = page.run(light)
    page.size(1280)
    assert worst > 4.5


def test_the_button_turns_the_page_dark_whatever_the_system_prefers(page, url):
    page.open(url)
    before = page.run("getComputedStyle(document.body).backgroundColor")
    page.run("document.getElementById('theme').click()")
    after = page.run("getComputedStyle(document.body).backgroundColor")
    page.run("document.getElementById('theme').click()")
    assert (before, after) == ("rgb(253, 253, 254)", "rgb(20, 23, 27)")


@pytest.mark.parametrize("where", ["", "#/explore", "#/r/gold-scope/scope/suffq-000/full/plot_nm/plain/0/good"])
def test_a_phone_never_scrolls_sideways(page, url, where):
    page.size(390, 844)
    page.open(url + where)
    width = page.run("document.documentElement.scrollWidth")
    page.size(1280)
    assert width == 390


def hostile() -> list[Outcome]:
    model = "<b onmouseover=window.hacked=1>m"
    return [
        row(
            model=model,
            view=v,
            choice=c,
            expected="A",
            error=HOSTILE,
            notes={"said": HOSTILE},
            variant="v<i>",
            options=["A", HOSTILE],
            probabilities={"A": 0.4, HOSTILE: 0.6},
            claims={HOSTILE: HOSTILE},
        )
        for v, c in (("table_nm", "A"), ("table_ev", HOSTILE), ("plot_nm", HOSTILE))
    ]


def test_hostile_output_is_inert_everywhere(page, tmp_path):
    found = hostile()
    publish(tmp_path, found, {**runs.RUN, "models": {found[0].model: {}}}, notes=[HOSTILE])
    page.messages.clear()
    page.open((tmp_path / "report.html").as_uri())
    page.run("location.hash = '#/explore'")
    page.wait(f"{ROWS} === 3")
    for _ in range(3):
        page.run("location.hash = document.querySelectorAll('#list tbody a')[1].getAttribute('href')")
        page.wait("!document.getElementById('request').hidden")
    assert HOSTILE in page.run("document.getElementById('request').textContent")
    assert page.run("window.hacked") is None
    assert page.run("document.querySelectorAll('main img, main b').length") == 0
    assert page.messages == []


@pytest.mark.slow
def test_five_thousand_requests_fit_and_the_explorer_answers_within_a_tenth_of_a_second(page, tmp_path):
    outcomes = runs.many(tmp_path)
    publish(tmp_path, outcomes, load(tmp_path).run)
    assert (tmp_path / "report.html").stat().st_size < 30_000_000
    page.open((tmp_path / "report.html").as_uri())
    page.run("location.hash = '#/explore'")
    page.wait(f"{ROWS} === 50")
    page.call("Performance.enable", timeDomain="threadTicks")  # computing time, whatever else the machine does
    inputs = [("answer", "wrong"), ("answer", ""), ("flipped", "yes"), ("flipped", ""), ("q", "plot_ev"), ("q", "")]
    actions = [
        f"(() => {{ const field = document.getElementById('f-{name}'); field.value = '{value}'; "
        "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
        for name, value in inputs
    ]
    actions += [f"document.querySelectorAll('#list th button')[{i}].click()" for i in range(10)]
    for i in (3, 30, 45):
        actions += [
            f"location.hash = document.querySelectorAll('#list tbody a')[{i}].getAttribute('href')",
            "location.hash = '#/explore'",
        ]
    spent = [computing(page, action) for action in actions]
    print(f"median {sorted(spent)[len(spent) // 2]:.0f} ms, slowest {max(spent):.0f} ms of {len(spent)} actions")
    assert max(spent) < 100


def computing(page: browser.Page, action: str) -> float:
    """Milliseconds of the page's thread for an action and the two frames after it."""

    def spent() -> float:
        metrics = {m["name"]: m["value"] for m in page.call("Performance.getMetrics")["metrics"]}
        return 1000 * metrics["TaskDuration"]

    start = spent()
    page.run(
        f"{action}; new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
    )
    return spent() - start
