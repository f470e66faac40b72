"""Loaders of the published layouts, on real files where they are, on small files of the same shape elsewhere."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from harness.datasets import goldenview, isobench, mmimdb, pairs_jsonl
from harness.datasets.pictures import read_picture
from harness.errors import DataError

SHARED = Path(__file__).parents[4] / "shared" / "data"
needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")


# -- IsoBench -----------------------------------------------------------------------------------------------------


@needs_data
def test_math_parity_has_384_items_with_the_published_labels_and_its_defects_are_reported() -> None:
    found = isobench.load(SHARED / "isobench" / "math_parity_384.jsonl", "math_parity")
    assert {"even": 128, "odd": 128, "neither": 128} == Counter(p.expected for p in found.items)
    assert ["057", "071", "094", "164", "268", "311"] == [n.split("parity-")[1][:3] for n in found.notes]
    assert "labelled 'neither' although the function is even" in found.notes[0]
    assert "zero" in found.notes[-1]


@needs_data
def test_graph_maxflow_has_128_items_and_the_solver_agrees_with_every_label() -> None:
    found = isobench.load(SHARED / "isobench" / "graph_maxflow_128.jsonl", "graph_maxflow")
    assert (128, ()) == (len(found.items), found.notes)


def png(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def test_a_hub_folder_of_parquet_is_read_with_its_pictures(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    row = {"image": {"bytes": png(Image.new("RGB", (1000, 500), "red")), "path": None}, "domain": None,
           "latex": "$$f(x) = x$$", "code": "f(x) = x", "label": "odd", "id": "isobench/math/parity_313"}
    folder = tmp_path / "math_parity"
    folder.mkdir()
    parquet.write_table(arrow.Table.from_pylist([row]), folder / "validation-00000.parquet")
    (pair,) = isobench.load(tmp_path, "math_parity").items
    assert "parity-313" == pair.id
    assert (768, 384) == Image.open(io.BytesIO(pair.inputs["image"][0].image())).size


@needs_data
@pytest.mark.parametrize(("subset", "file"), [
    ("math_parity", "math_parity_384.jsonl"), ("graph_maxflow", "graph_maxflow_128.jsonl")])
def test_the_published_rows_are_the_same_items_from_parquet_and_from_json_lines(
    tmp_path: Path, subset: str, file: str
) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    lines = SHARED / "isobench" / file
    folder = tmp_path / subset
    folder.mkdir()
    rows = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "validation-00000.parquet")
    expected, actual = isobench.load(lines, subset), isobench.load(tmp_path, subset)
    assert [(p.id, p.expected, p.inputs["text"][0].text) for p in expected.items] == [
        (p.id, p.expected, p.inputs["text"][0].text) for p in actual.items]
    assert len(expected.notes) == len(actual.notes)


@pytest.mark.parametrize(("change", "message"), [
    ({"label": "strange"}, "answer 'strange' is not offered"), ({"code": "__import__('os')"}, "is not a formula in x"),
    ({"code": "f(x) = x**x"}, "is not a formula in x"), ({"latex": None}, "'latex' is missing"),
])
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, change: dict, message: str) -> None:
    good = {"sample_index": 0, "latex": "$$f(x) = x$$", "code": "f(x) = x", "label": "odd"}
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps(good) + "\n" + json.dumps({**good, "sample_index": 1, **change}) + "\n")
    with pytest.raises(DataError, match=r"p\.jsonl:2: .*") as caught:
        isobench.load(file, "math_parity")
    assert message in str(caught.value)


# -- GoldenView ---------------------------------------------------------------------------------------------------


@needs_data
def test_the_partition_is_that_of_the_55_questions() -> None:
    known = json.loads((SHARED / "goldenview" / "partition_seed42.json").read_text())
    ids = json.loads((SHARED / "goldenview" / "eval_question_ids.json").read_text())
    assert ids == list(known)
    for question, sets in known.items():
        halves = goldenview.partition(question)
        assert [set(sets["A"]), set(sets["B"])] == [set(h) for h in halves]


def test_cameras_of_a_set_stand_in_clockwise_order() -> None:
    for half in goldenview.partition("sfall_0001_causality"):
        assert list(half) == sorted(half, key=goldenview.CAMERAS.index)


def driving(folder: Path, **change: Any) -> Path:
    for camera in goldenview.CAMERAS:
        Image.new("RGB", (40, 20), "grey").save(folder / f"{camera}.jpg")
    row = {"question_id": "q1", "question": "Why?", "question_group": "causality", "scene_name": "s1",
           "options": {"A": "a", "B": "b", "C": "c", "D": "d"}, "views": {c: f"{c}.jpg" for c in goldenview.CAMERAS},
           "golden_view": "CAM_FRONT", "gold_answer_id": "B", "gold_answer_text": "b", "sample_token": "t"}
    file = folder / "eval.jsonl"
    file.write_text(json.dumps({**row, **change}) + "\n")
    return file


def test_a_driving_question_has_two_sets_of_three_and_its_golden_set(tmp_path: Path) -> None:
    (pair,) = goldenview.load(driving(tmp_path)).items
    golden = pair.facts["golden"]
    assert "CAM_FRONT" in pair.withheld[golden]
    assert [6, 6] == [len(pair.inputs[s]) for s in ("set_a", "set_b")]


def test_a_question_without_a_decisive_view_has_no_golden_set(tmp_path: Path) -> None:
    assert "" == goldenview.load(driving(tmp_path, golden_view=goldenview.NONE)).items[0].facts["golden"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"A": "a", "B": "same", "C": "c", "D": "Same "}}, "options 'B' and 'D' both say"),
        ({"question_group": "causal"}, "did you mean 'causality'"),
        ({"golden_view": "CAM_FRNT"}, "did you mean 'CAM_FRONT'"),
        ({"gold_answer_id": "E"}, "not offered"),
        ({"views": {"CAM_FRONT": "x.jpg"}}, "all six cameras are needed"),
    ],
)
def test_a_bad_question_is_named_with_its_line(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(DataError) as caught:
        goldenview.load(driving(tmp_path, **change))
    assert "eval.jsonl:1: " in str(caught.value)
    assert message in str(caught.value)


# -- mm-IMDb ------------------------------------------------------------------------------------------------------


def film_folder(folder: Path, **films: dict) -> Path:
    (folder / "dataset").mkdir()
    (folder / "split.json").write_text(json.dumps({"train": [], "dev": [], "test": list(films)}))
    for film, data in films.items():
        (folder / "dataset" / f"{film}.json").write_text(json.dumps(data))
        Image.new("RGB", (20, 30)).save(folder / "dataset" / f"{film}.jpeg")
    return folder


FILM = {"plot": ["It begins.", "It ends."], "genres": ["Drama", "News"], "title": "A Film", "year": 1999}


def test_a_film_has_one_row_a_plot_and_shares_its_poster(tmp_path: Path) -> None:
    found = mmimdb.load(film_folder(tmp_path, **{"0000001": FILM, "0000002": {**FILM, "plot": ["Once."]}}))
    assert ["0000001-p0", "0000001-p1", "0000002-p0"] == [p.id for p in found.items]
    assert ['["Drama"]', {"image", "title"}] == [found.items[0].expected, set(found.items[0].once)]


def test_only_the_first_films_of_the_split_in_file_order_are_read(tmp_path: Path) -> None:
    found = mmimdb.load(film_folder(tmp_path, **{"0000009": FILM, "0000001": FILM, "0000005": FILM}), n=2)
    assert ["0000009", "0000009", "0000001", "0000001"] == [p.cluster for p in found.items]


@pytest.mark.parametrize(("film", "message"), [
    ({"title": "x", "genres": ["Drama"]}, "'plot' is missing or empty"),
    ({**FILM, "genres": ["Dramma"]}, "genre 'Dramma' is not one of the 23; did you mean 'Drama'?"),
    ({**FILM, "genres": ["News"]}, "hold none of the 23"), ({**FILM, "title": ""}, "'title' is missing or empty"),
])
def test_a_bad_film_is_named(tmp_path: Path, film: dict, message: str) -> None:
    with pytest.raises(DataError, match=r"0000007\.json") as caught:
        mmimdb.load(film_folder(tmp_path, **{"0000007": film}))
    assert message in str(caught.value)


def test_all_bad_films_are_named_together(tmp_path: Path) -> None:
    folder = film_folder(tmp_path, **{"0000001": {**FILM, "plot": []}, "0000002": FILM})
    (folder / "dataset" / "0000002.jpeg").unlink()
    with pytest.raises(DataError) as caught:
        mmimdb.load(folder)
    assert ["'plot' is missing", "the film has no poster"] == [
        m for m in ("'plot' is missing", "the film has no poster") if m in str(caught.value)]


# -- pictures -----------------------------------------------------------------------------------------------------


def saved(folder: Path, name: str, picture: Image.Image, **options: Any) -> Path:
    picture.save(folder / name, **options)
    return folder / name


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_a_large_picture_is_reduced_to_768_px_and_a_small_one_is_never_enlarged(tmp_path: Path) -> None:
    large = saved(tmp_path, "l.jpeg", Image.new("RGB", (10_000, 2_000), "navy"))
    small = saved(tmp_path, "s.png", Image.new("RGB", (30, 20), "navy"))
    assert [(768, 154), (30, 20)] == [opened(read_picture(p)).size for p in (large, small)]


def test_a_cmyk_jpeg_comes_out_as_rgb(tmp_path: Path) -> None:
    picture = opened(read_picture(saved(tmp_path, "c.jpeg", Image.new("CMYK", (9, 9), (0, 255, 255, 0)))))
    assert "RGB" == picture.mode
    red, green, blue = picture.getpixel((4, 4))
    assert red > 200 > 60 > max(green, blue)


def test_a_16_bit_png_keeps_its_grey_instead_of_turning_white(tmp_path: Path) -> None:
    grey = Image.fromarray(np.full((8, 8), 128 * 256, np.uint16))
    assert (128, 128, 128) == opened(read_picture(saved(tmp_path, "g.png", grey))).getpixel((3, 3))


def test_transparency_goes_onto_white(tmp_path: Path) -> None:
    clear = saved(tmp_path, "t.png", Image.new("RGBA", (5, 5), (255, 0, 0, 0)))
    assert (255, 255, 255) == opened(read_picture(clear)).getpixel((2, 2))


def test_a_truncated_jpeg_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (200, 200, 3), dtype=np.uint8))
    file = saved(tmp_path, "cut.jpeg", noise)
    file.write_bytes(file.read_bytes()[:3000])
    with pytest.raises(DataError, match=r"cut\.jpeg: the picture is damaged"):
        read_picture(file)


@pytest.mark.parametrize(("content", "message"), [(b"not a picture", "not a picture"), (b"", "not a picture")])
def test_a_file_that_is_no_picture_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(DataError, match=rf"x\.png: {message}"):
        read_picture(tmp_path / "x.png")


def test_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    bomb = saved(tmp_path, "b.png", Image.new("1", (20_000, 20_000)))
    with pytest.raises(DataError, match="million pixels"):
        read_picture(bomb)


# -- a user's own file --------------------------------------------------------------------------------------------

OWN = {"log": "text", "photo": "image"}
CHOICE = {"space": "choice", "values": ["yes", "no"]}


def own(folder: Path, *lines: str) -> Path:
    Image.new("RGB", (10, 10)).save(folder / "a.png")
    file = folder / "mine.jsonl"
    file.write_text("\n".join(lines) + "\n")
    return file


GOOD = '{"id": "x1", "log": "all fine", "photo": "a.png", "answer": "yes", "site": "north"}'


def test_a_users_file_needs_no_python(tmp_path: Path) -> None:
    (pair,) = pairs_jsonl.load(own(tmp_path, GOOD), OWN, CHOICE).items
    assert ("x1", "yes", {"site": "north"}) == (pair.id, pair.expected, dict(pair.fields))
    assert pair.inputs["photo"][0].image().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{not json", "mine.jsonl:2: not JSON"),
        ("[1]", "mine.jsonl:2: list instead of a JSON object"),
        (GOOD, "mine.jsonl:2: id 'x1' is the id of line 1 already; ids must differ"),
        (GOOD.replace("x1", "x/2"), "holds '/'"),
        (GOOD.replace("x1", "x2").replace("yes", "maybe"), "mine.jsonl:2: answer 'maybe' is not offered"),
        ('{"id": "x2", "log": "fine", "answer": "yes"}', "mine.jsonl:2: 'photo' is missing"),
        (GOOD.replace("x1", "x2").replace("a.png", "b.png"), "no such picture"),
        (GOOD.replace("x1", "x2").replace("all fine", " "), "mine.jsonl:2: log: ' ' is not a text, or an empty one"),
        (
            GOOD.replace('"answer"', '"options": {"yes": "It is.", "no": "it is."}, "answer"').replace("x1", "x2"),
            "both say",
        ),
        (
            GOOD.replace('"answer"', '"sufficient": {"log": "false"}, "answer"').replace("x1", "x2"),
            "mine.jsonl:2: sufficient.log: 'false' is neither true nor false",
        ),
        (
            GOOD.replace('"answer"', '"alone": {"log": "maybe"}, "answer"').replace("x1", "x2"),
            "mine.jsonl:2: alone.log: answer 'maybe' is not offered",
        ),
        (
            GOOD.replace('"answer"', '"cluster": ["a"], "answer"').replace("x1", "x2"),
            "mine.jsonl:2: cluster: ['a'] is neither a text nor a number",
        ),
        (GOOD.replace("x1", "x2").replace('"north"', "NaN"), "mine.jsonl:2: site: nan is neither a text nor a number"),
        (
            GOOD.replace('"answer"', '"options": {"yes": "It is.", "no": null}, "answer"').replace("x1", "x2"),
            "mine.jsonl:2: option 'no': None is neither a text nor a number",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        pairs_jsonl.load(own(tmp_path, GOOD, line), OWN, CHOICE)
    assert message in str(caught.value)


def test_an_item_without_a_cluster_is_a_cluster_of_its_own_whichever_way_it_says_so(tmp_path: Path) -> None:
    rows = [{"id": f"x{i}", "log": "fine", "photo": "a.png", "answer": "yes"} for i in range(4)]
    rows[1]["cluster"], rows[2]["cluster"], rows[3]["cluster"] = None, "", 0
    items = pairs_jsonl.load(own(tmp_path, *map(json.dumps, rows)), OWN, CHOICE).items
    assert ["x0", "x1", "x2", "0"] == [p.cluster for p in items]


def test_an_item_whose_id_is_null_is_named_by_its_number(tmp_path: Path) -> None:
    rows = [{"id": None, "log": "fine", "photo": "a.png", "answer": "yes"} for _ in range(2)]
    assert ["0000", "0001"] == [p.id for p in pairs_jsonl.load(own(tmp_path, *map(json.dumps, rows)), OWN, CHOICE).items]


def test_a_picture_that_cannot_be_read_is_named_with_the_line_that_asks_for_it(tmp_path: Path) -> None:
    file = own(tmp_path, GOOD)
    (tmp_path / "a.png").write_bytes(b"GIF")
    (pair,) = pairs_jsonl.load(file, OWN, CHOICE).items
    with pytest.raises(DataError, match=r"mine\.jsonl:1: photo: .*a\.png: not a picture that can be read; PNG or JPEG"):
        pair.inputs["photo"][0].image()
