"""Where this user's own files lie: environment variables first, then ``isoprobe.yaml`` in the working folder.

    datasets:
      moclip: ~/data/MOCLIP_dataset_10k.npz     # or ISOPROBE_MOCLIP
      gold: uvvis.csv                           # or ISOPROBE_GOLD; relative to isoprobe.yaml
      mmimdb: ~/data/mmimdb                     # the folder that holds split.json
      isobench: ~/data/isobench                 # folder or file of the published items
      goldenview: ~/data/goldenview/eval.jsonl
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .errors import Problem, SpecError, near
from .yamlfile import read_yaml

FILE = "isoprobe.yaml"
DATASETS = ("moclip", "gold", "isobench", "mmimdb", "goldenview")
FOLDERS = ("isobench", "mmimdb")
"""Datasets that may be a folder of files."""


def dataset_path(name: str) -> Path | None:
    """The user's own file of a dataset, or None: then the embedded stand-in is used.

    Raises:
        SpecError: a path is set but no file is there, or the settings file has unknown keys.
    """
    variable = f"ISOPROBE_{name.upper()}"
    if os.environ.get(variable):
        return _existing(Path(os.environ[variable]).expanduser(), Problem(variable, 0, "", ""), name in FOLDERS)
    settings = Path.cwd() / FILE
    if not settings.is_file():
        return None
    file = read_yaml(settings, FILE)
    datasets = (file.data or {}).get("datasets", {}) if isinstance(file.data, Mapping | None) else None
    if not isinstance(datasets, Mapping | None):
        raise SpecError(file.problem(("datasets",), "must map a dataset name to a path"))
    for key, value in (datasets or {}).items():
        if key not in DATASETS:
            raise SpecError(file.problem(("datasets", key), f"{key!r} has no setting{near(key, DATASETS)}"))
        if not isinstance(value, str) or not value:
            raise SpecError(file.problem(("datasets", key), f"{value!r} is not a path; without it the stand-in serves"))
    value = (datasets or {}).get(name)
    if value is None:
        return None
    return _existing(settings.parent / Path(value).expanduser(), file.problem(("datasets", name), ""), name in FOLDERS)


def _existing(path: Path, place: Problem, folder: bool = False) -> Path:
    if not (path.is_file() or (folder and path.is_dir())):
        wrong = f"no file at {path}; give the path of the file, or remove the setting to use the simulated stand-in"
        raise SpecError(Problem(place.file, place.line, place.path, wrong))
    return path.resolve()
