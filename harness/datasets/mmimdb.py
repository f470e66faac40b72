"""mm-IMDb as published (Arevalo et al. 2017): films with plot summaries, a poster and genres.

The first 300 films of the test split in file order, one item a plot summary, 23 genres (modality paper, appendix B.1).
Poster-only and title-only views are generated once a film and shared by its rows.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import DataError, near
from .paired import Pair, PairedSet, Piece, below, check_ids, set_text
from .pictures import read_picture

GENRES = ("Action", "Adventure", "Animation", "Biography", "Comedy", "Crime", "Documentary", "Drama", "Family",
          "Fantasy", "Film-Noir", "History", "Horror", "Music", "Musical", "Mystery", "Romance", "Sci-Fi", "Short",
          "Sport", "Thriller", "War", "Western")
DROPPED = ("News", "Adult", "Talk-Show", "Reality-TV")
"""Raw genres that are left out of the label set."""
SHOWN = 12
"""A message lists at most this many faults."""


def load(path: str | Path, split: str = "test", n: int = 300, **_: Any) -> PairedSet:
    """Items ``<film>-p<plot>``, cluster = film.

    Args:
        path: the folder that holds ``split.json`` and ``dataset/<id>.json|jpeg``.

    Raises:
        DataError: no such split; films without a poster, plots, a title or a known genre - all faults together.
    """
    folder = Path(path)
    films = _json(folder / "split.json")
    if split not in films:
        raise DataError(f"{folder / 'split.json'}: no split {split!r}{near(split, films)}")
    if not isinstance(films[split], list):
        raise DataError(f"{folder / 'split.json'}: split {split!r} is not a list of films")
    items: list[Pair] = []
    faults: list[str] = []
    for film in films[split][:n]:
        try:
            items += _film(folder / "dataset", str(film))
        except DataError as error:
            faults.append(str(error))
    if faults:
        more = f"\n... and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise DataError("\n".join(faults[:SHOWN]) + more)
    return PairedSet("mmimdb", check_ids(items, folder))


def _film(folder: Path, film: str) -> list[Pair]:
    file = below(folder, f"{film}.json", f"{folder.parent / 'split.json'}: film {film!r:.60}")
    data = _json(file)
    plots = data.get("plot")
    plots = [plots] if isinstance(plots, str) else plots
    if not plots or not all(isinstance(p, str) and p.strip() for p in plots):
        raise DataError(f"{file}: 'plot' is missing or empty; a list of summaries is needed")
    genres = [str(g) for g in data.get("genres") or ()]
    for genre in genres:
        if genre not in GENRES and genre not in DROPPED:
            raise DataError(f"{file}: genre {genre!r} is not one of the 23{near(genre, GENRES)}")
    kept = [g for g in genres if g in GENRES]
    if not kept:
        raise DataError(f"{file}: genres {genres} hold none of the 23; leave the film out of the split")
    title = str(data.get("title") or "").strip()
    if not title:
        raise DataError(f"{file}: 'title' is missing or empty")
    poster = folder / f"{film}.jpeg"
    if not poster.is_file():
        raise DataError(f"{poster}: the film has no poster; every film of the split needs one")
    shared = {"image": (Piece(image=partial(read_picture, poster)),), "title": (Piece(title),)}
    return [
        Pair(id=f"{film}-p{i}", cluster=film, expected=set_text(kept), once=frozenset(shared),
             inputs={"text": (Piece(plot.strip()),), **shared}, facts={"regime": "mixed", "plot_index": i})
        for i, plot in enumerate(plots)
    ]


def _json(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{file}: not JSON") from None
    if not isinstance(data, dict):
        raise DataError(f"{file}: {type(data).__name__} instead of a JSON object")
    return data
