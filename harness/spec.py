"""Declarations: YAML files in, frozen specs out, or every fault at once as ``file:line: path: message``."""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import spec_paired
from .errors import Problem, SpecError, near
from .probe import View
from .yamlfile import YamlFile, check_schema, read_yaml

PACKAGE_SPECS = Path(__file__).parent / "_specs"
"""Where the declarations lie in an installed wheel; in a clone they stand at the top level."""

FAMILIES = ("spectra", "paired")
TASK_NEEDS = {
    "extreme": ("bands_nm", "margin_nm"),
    "compare": ("separation_nm", "option_description"),
    "specification": ("windows_nm", "depths", "inside_nm", "outside_nm", "deep_margin", "shallow_margin",
                      "option_description"),
    "threshold": ("thresholds_nm", "margin_nm", "options"),
    "sufficiency": ("cut_half_width_nm", "min_samples", "abstain"),
    "scope": ("intervals_nm", "cut_half_width_nm", "min_samples", "abstain"),
}
QUESTIONS = {
    "extreme": ("minimum", "maximum"),
    "compare": ("longer-wavelength", "shorter-wavelength", "longer-axis", "shorter-axis"),
    "specification": ("fits",),
    "threshold": ("wavelength", "axis"),
    "sufficiency": ("question",),
    "scope": ("question",),
}
PLACEHOLDERS = ("axis", "axis_longer", "axis_shorter")
"""Of every question."""
TASK_PLACEHOLDERS = {
    "specification": ("window", "depth"),
    "threshold": ("threshold", "threshold_wavelength"),
    "sufficiency": ("range", "full_range"),
    "scope": ("range", "full_range"),
}
"""Further ones of a kind of task; with ``thresholds_nm`` also those of a threshold task."""
WORDINGS = ("wavelength", "axis")
"""Of option labels: the first everywhere, the second for the question ``axis`` of threshold tasks."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task of a probe family; ``params`` as declared."""

    kind: str
    prefix: str
    instances: int
    questions: Mapping[str, str]
    params: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.params.get(name, default)


@dataclass(frozen=True, slots=True)
class Spec:
    """One probe family, as declared in one file. ``data`` is the whole parsed document."""

    name: str
    version: int
    file: str
    base: Path
    suite: str
    family: str
    title: str
    seed: int
    dataset: Mapping[str, Any]
    exclude: tuple[str, ...]
    readout: str
    tasks: tuple[TaskSpec, ...]
    views: tuple[View, ...]
    templates: tuple[str, ...]
    tables: tuple[str, ...]
    data: Mapping[str, Any]
    sha256: str
    lines: Mapping[tuple, int] = field(default_factory=dict)

    def place(self, *path: object) -> str:
        """``file:line: a.b``, where a part of the declaration stands, for what only the data show to be wrong."""
        line = f":{self.lines[path]}" if path in self.lines else ""
        return f"{self.file}{line}: {'.'.join(map(str, path))}"

    def view(self, name: str) -> View:
        return _named(self.views, name, f"{self.file}: view", lambda v: v.name)

    def task(self, kind: str) -> TaskSpec:
        return _named(self.tasks, kind, f"{self.file}: task", lambda t: t.kind)


def _named(things: Iterable, name: str, what: str, key) -> Any:
    things = tuple(things)
    for thing in things:
        if key(thing) == name:
            return thing
    raise SpecError(Problem(what, 0, "", f"{name!r} is not declared{near(name, map(key, things))}"))


@cache
def schema(name: str) -> dict[str, Any]:
    """A JSON Schema of ``specs/schema`` by stem. Schemas ship with the package, whatever specs the user has."""
    for folder in (PACKAGE_SPECS, Path(__file__).parent.parent / "specs"):
        path = folder / "schema" / f"{name}.schema.json"
        if path.is_file():
            return json.loads(path.read_text("utf-8"))
    raise SpecError(Problem(f"specs/schema/{name}.schema.json", 0, "", "no such schema in this installation"))


def specs_folder(root: Path) -> Path:
    """The user's ``specs/`` under ``root`` when there is one, else the package's own."""
    for folder in (root / "specs", PACKAGE_SPECS, Path(__file__).parent.parent / "specs"):
        if folder.is_dir():
            return folder
    raise SpecError(Problem(str(root / "specs"), 0, "", "no such folder; run this where specs/ is"))


def shown(path: Path) -> str:
    """How a message names a file: relative to the working folder when it lies below it."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def load(path: Path) -> Spec:
    """Read one probe family.

    Raises:
        SpecError: with every problem of the file, sorted by line.
    """
    file = read_yaml(path, shown(path))
    if not isinstance(file.data, dict):
        raise SpecError(Problem(file.path, 0, "", "a probe family is a mapping; see specs/README.md"))
    family = file.data.get("family", "paired" if "inputs" in file.data else "spectra")
    if family not in FAMILIES:  # each has a schema of its own, so nothing else could be said of the file
        raise SpecError(file.problem(("family",), f"{family!r} is not a family{near(family, FAMILIES)}"))
    name = "paired" if family == "paired" else "spec"
    problems = check_schema(file, schema(name))
    dataset = file.data.get("dataset")
    if isinstance(dataset, dict) and name == "spec":
        inner = YamlFile(file.path, dataset, {p[1:]: n for p, n in file.lines.items() if p[:1] == ("dataset",)})
        problems += [Problem(p.file, p.line, f"dataset.{p.path}" if p.path else "dataset", p.message)
                     for p in check_schema(inner, schema("dataset"))]
    if not problems:
        problems = [*_check_tasks(file), *_check_exclude(file, path)] if name == "spec" else list(spec_paired.check(file))
    if problems:
        raise SpecError(sorted(problems, key=lambda p: (p.line, p.path)))
    return _freeze(file, path, family)


def load_all(root: Path, names: Iterable[str] = ()) -> tuple[Spec, ...]:
    """Specs below ``root/specs`` sorted by suite and name; ``names`` may be spec names or paths of YAML files.

    Raises:
        SpecError: problems of all files together, unknown names with a near match, two specs of one name.
    """
    folder = specs_folder(root)
    wanted = tuple(names)
    files = [Path(n) for n in wanted if n.endswith((".yaml", ".yml"))]
    by_name = [n for n in wanted if not n.endswith((".yaml", ".yml"))]
    found = sorted(p for suite in ("invariance", "sufficiency") for p in (folder / suite).glob("*.yaml"))
    if by_name:
        known = {p.stem: p for p in found}
        missing = [Problem("--spec", 0, "", f"{n!r} is not a spec{near(n, known)}") for n in by_name if n not in known]
        if missing:
            raise SpecError(missing)
        files += [known[n] for n in by_name]
    elif not wanted:
        files = found
    specs, problems = [], []
    for path in dict.fromkeys(files):
        try:
            specs.append(load(path))
        except SpecError as error:
            problems += error.problems
    seen: dict[str, Spec] = {}
    for spec in specs:
        if spec.name in seen:
            problems.append(Problem(spec.file, 1, "name", f"{spec.name!r} is the name of {seen[spec.name].file} too"))
        seen.setdefault(spec.name, spec)
    if problems:
        raise SpecError(problems)
    return tuple(specs)


def declaration(root: Path, stem: str) -> YamlFile:
    """``specs/models.yaml`` or ``specs/gates.yaml``, checked against the schema of that stem.

    Raises:
        SpecError: with every problem of the file.
    """
    path = specs_folder(root) / f"{stem}.yaml"
    file = read_yaml(path, shown(path))
    problems = check_schema(file, schema(stem))
    if problems:
        raise SpecError(problems)
    return file


def _check_tasks(file: YamlFile) -> Iterable[Problem]:
    """What a schema cannot say: which settings a kind of task needs, and which placeholders exist."""
    prefixes: dict[str, str] = {}
    for kind, task in file.data["tasks"].items():
        path = ("tasks", kind)
        other = prefixes.setdefault(task.get("prefix", kind), kind)
        if other != kind:  # ids of instances would be the same, and one would stand for both
            yield file.problem((*path, "prefix"), f"{task.get('prefix', kind)!r} is the prefix of {other!r} too")
        for need in TASK_NEEDS[kind]:
            if need not in task:
                yield file.problem(path, f"{need!r} is missing; {kind} tasks need it")
        if kind in ("sufficiency", "scope") and not ("bands_nm" in task or {"thresholds_nm", "options"} <= set(task)):
            yield file.problem(path, "either 'bands_nm' or both 'thresholds_nm' and 'options' must say what is asked")
        known = (*PLACEHOLDERS, *TASK_PLACEHOLDERS.get(kind, ()))
        if kind in ("sufficiency", "scope") and "thresholds_nm" in task:
            known += TASK_PLACEHOLDERS["threshold"]
        for name, text in task["questions"].items():
            where = (*path, "questions", name)
            if name not in QUESTIONS[kind]:
                yield file.problem(where, f"{name!r} is not a question of {kind} tasks{near(name, QUESTIONS[kind])}")
            yield from _check_placeholders(file, where, text, known)
        if "option_description" in task:
            yield from _check_placeholders(file, (*path, "option_description"), task["option_description"], ("letter",))
        yield from _check_options(file, path, task, known)
        bands = task.get("bands_nm", [])
        if any(b <= a for a, b in pairwise(bands)):
            yield file.problem((*path, "bands_nm"), f"boundaries must ascend, not {bands}")
        for setting in ("windows_nm", "intervals_nm"):
            for i, (lo, hi) in enumerate(task.get(setting, [])):
                if hi <= lo:
                    yield file.problem((*path, setting, i), f"[{lo}, {hi}] must ascend")
    low, high = file.data["clean"].get("range_nm", (0, 1))
    if high <= low:
        yield file.problem(("clean", "range_nm"), f"[{low}, {high}] must ascend")
    for i, view in enumerate(file.data.get("interface_views", [])):
        if view not in file.data["views"]:
            yield file.problem(("interface_views", i), f"{view!r} is not a view{near(view, file.data['views'])}")


def excluded(name: str, path: Path) -> Path:
    """The file of the family that a family at ``path`` excludes: beside it, else among the specs of the working folder."""
    beside = path.with_name(f"{name}.yaml")
    return beside if beside.is_file() else specs_folder(Path.cwd()) / "invariance" / beside.name


def _check_exclude(file: YamlFile, path: Path) -> Iterable[Problem]:
    """Whether excluded families exist, and draw their structures without this one's."""
    for i, name in enumerate(file.data.get("exclude", ())):
        if not excluded(name, path).is_file():
            known = {p.stem for folder in (path.parent, excluded("", path).parent) for p in folder.glob("*.yaml")}
            yield file.problem(("exclude", i), f"{name!r} is not a spec{near(name, sorted(known - {path.stem}))}")
            continue
        if path.resolve() in _behind(excluded(name, path), set()):
            yield file.problem(("exclude", i), f"{name!r} excludes this family in turn; one of them must draw first")


def _behind(path: Path, seen: set[Path]) -> set[Path]:
    """``seen`` with a family's file and those of all that it excludes."""
    if path.resolve() not in seen and path.is_file():
        seen.add(path.resolve())
        data = read_yaml(path, shown(path)).data
        names = data.get("exclude") if isinstance(data, dict) else None
        for name in names if isinstance(names, list) else ():
            _behind(excluded(str(name), path), seen)
    return seen


def _check_placeholders(file: YamlFile, where: tuple, text: str, known: tuple[str, ...]) -> Iterable[Problem]:
    """Whether a text can be filled wherever its task is asked: a name that another task fills is unknown here."""
    try:
        used = {f for _, f, _, _ in string.Formatter().parse(text) if f is not None}
        unknown = sorted(used - set(known))
        if not unknown:
            text.format_map(dict.fromkeys(known, ""))  # a format such as {axis:d} fails only when it is applied
    except ValueError as error:
        yield file.problem(where, f"placeholders: {error}")
        return
    for name in unknown:
        yield file.problem(where, f"{{{name}}} is not a placeholder of {where[1]} tasks{near(name, known)}")


def _check_options(file: YamlFile, path: tuple, task: Mapping, known: tuple[str, ...]) -> Iterable[Problem]:
    """Labels of the sides of a threshold: one pair for each wording that is asked, with placeholders that exist."""
    if "options" not in task or "bands_nm" in task:
        return
    where = (*path, "options")
    for wording, sides in task["options"].items():
        if wording not in WORDINGS:
            yield file.problem((*where, wording), f"{wording!r} is not a wording{near(wording, WORDINGS)}")
        for side, label in sides.items():
            yield from _check_placeholders(file, (*where, wording, side), label, known)
    for wording in {"axis" if question == "axis" else "wavelength": 0 for question in task["questions"]}:
        if wording not in task["options"]:
            yield file.problem(where, f"{wording!r} is missing: its labels of the shorter and the longer side")


def _freeze(file: YamlFile, path: Path, family: str) -> Spec:
    data = file.data
    canonical = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    tasks = tuple(
        TaskSpec(kind, t.get("prefix", kind), t.get("instances", 0), t.get("questions", {}), t)
        for kind, t in data["tasks"].items()
    )
    return Spec(
        name=data["name"], version=data["version"], file=file.path, base=path.resolve().parent, suite=data["suite"],
        family=family, title=data["title"], seed=data["seed"], dataset=data["dataset"],
        exclude=tuple(data.get("exclude", ())), readout=data["readout"], tasks=tasks,
        views=tuple(_view(n, v) for n, v in data["views"].items()),
        templates=tuple(data.get("templates", ("plain",))), tables=tuple(data.get("tables", ())), data=data,
        sha256=hashlib.sha256(canonical.encode()).hexdigest(), lines=file.lines,
    )


def _view(name: str, declared: Mapping[str, Any]) -> View:
    kind = declared["kind"]
    modality = {"plot": "plot", "csv": "table", "markdown": "table", "json": "table"}.get(kind, kind)
    order = declared.get("order", "ascending" if modality == "table" else "")
    optional = declared.get("optional", False)
    style = {k: v for k, v in declared.items() if k not in _NOT_STYLE}
    return View(name, modality, kind, declared.get("unit", ""), order, declared.get("core", not optional), optional,
                declared.get("range_format", ""), style)


_NOT_STYLE = frozenset(("kind", "unit", "order", "core", "optional", "range_format"))
