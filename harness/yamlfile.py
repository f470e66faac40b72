"""Reads a YAML file safely and remembers the line of every value, so that any later complaint can point at it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .errors import Problem, SpecError, near

MAX_VALUES = 100_000
"""A declaration with more values than this (aliases expanded) is refused: it is a mistake or a YAML bomb."""

HINTS = {
    "found a tab character that violates indentation": "indent with spaces",
    "found character that cannot start any token": "indent with spaces, and quote text that begins with @, % or `",
    "mapping values are not allowed in this context": "quote text that holds ': ', and check the indentation",
    "did not find expected key": "check the indentation of this line and of those before it",
    "did not find expected '-' indicator": "check the indentation of this line and of those before it",
    "could not find expected ':'": "a key is followed by ': ', a '-' by a space; check the line before, too",
    "did not find expected ',' or ']'": "close the list with ]",
    "did not find expected ',' or '}'": "close the mapping with }",
}
"""What most often is the reason of a complaint of libyaml."""

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class YamlFile:
    """The parsed ``data`` with the 1-based line of every path (a tuple of keys and indices)."""

    path: str
    data: Any
    lines: Mapping[tuple, int]

    def line(self, path: Iterable) -> int:
        """Line of ``path``, or of the nearest ancestor that stands in the file."""
        path = tuple(path)
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def problem(self, path: Iterable, message: str) -> Problem:
        path = tuple(path)
        return Problem(self.path, self.line(path), ".".join(map(str, path)), message)


def read_yaml(path: Path, shown: str | None = None) -> YamlFile:
    """Read one document. ``shown`` is how messages name the file.

    Raises:
        SpecError: missing file, not UTF-8, not YAML, duplicate keys (all of them), unsafe tags, too many values.
    """
    name = shown or str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise SpecError(Problem(name, 0, "", "no such file")) from None
    except OSError as error:
        raise SpecError(Problem(name, 0, "", f"cannot be read: {error.strerror}")) from None
    except UnicodeDecodeError as error:
        raise SpecError(Problem(name, 0, "", f"byte {error.start} is not UTF-8; save the file as UTF-8")) from None
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        walk = _Walk(name, loader)
        data = walk.value(node, ()) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        hint = f"; {HINTS[what]}" if what in HINTS else ""
        raise SpecError(Problem(name, mark.line + 1 if mark else 0, "", f"not valid YAML: {what}{hint}")) from None
    except RecursionError:
        raise SpecError(Problem(name, 0, "", "nested too deeply for a declaration")) from None
    finally:
        if loader is not None:
            loader.dispose()
    if walk.problems:
        raise SpecError(walk.problems)
    return YamlFile(name, data, walk.lines)


_PLAIN = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_MERGE = "tag:yaml.org,2002:merge"


class _Walk:
    """Turns YAML nodes into builtins while noting lines and duplicate keys."""

    def __init__(self, name: str, loader: Any):
        self.name, self.loader = name, loader
        self.lines: dict[tuple, int] = {}
        self.problems: list[Problem] = []
        self.seen = 0

    def value(self, node: yaml.Node, path: tuple) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.seen += 1
        if self.seen > MAX_VALUES:
            raise SpecError(Problem(self.name, line, "", f"more than {MAX_VALUES} values (aliases expanded)"))
        if not isinstance(node, yaml.ScalarNode) and node.tag not in _PLAIN:
            raise SpecError(Problem(self.name, line, ".".join(map(str, path)), f"the tag {node.tag} is not supported"))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, i)) for i, child in enumerate(node.value)]
        try:
            return self.loader.construct_object(node)
        except ValueError as error:  # e.g. 2026-13-40 looks like a date
            raise SpecError(Problem(self.name, line, ".".join(map(str, path)), f"{node.value!r}: {error}")) from None

    def _mapping(self, node: yaml.MappingNode, path: tuple) -> dict:
        out: dict = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            plain = isinstance(key_node, yaml.ScalarNode) and key_node.tag != _MERGE
            key = self.value(key_node, (*path, "?")) if plain else None
            if key is None:
                self.problems.append(Problem(self.name, line, ".".join(map(str, path)),
                                             "a key must be plain text or a number; merge keys are not supported"))
                continue
            here = (*path, key)
            if key in out:
                first = self.lines[here]
                self.problems.append(Problem(self.name, line, ".".join(map(str, here)),
                                             f"duplicate key; it stands at line {first} already"))
                continue
            self.lines[here] = line
            out[key] = self.value(value_node, here)
        self.lines.pop((*path, "?"), None)
        return out


def check_schema(file: YamlFile, schema: Mapping[str, Any]) -> list[Problem]:
    """All violations of a JSON Schema (draft 2020-12), each with its line and a near match.

    A schema may carry ``x-noun`` beside an ``enum``: what such a value is called in a message.
    """
    from jsonschema import Draft202012Validator

    problems = [p for e in Draft202012Validator(schema).iter_errors(file.data) for p in _explain(file, e)]
    return sorted(problems, key=lambda p: (p.line, p.path, p.message))


def _explain(file: YamlFile, error: Any) -> list[Problem]:
    path = tuple(error.absolute_path)
    kind, schema = error.validator, error.schema
    if kind == "oneOf":  # of branches that need one property each
        names = [name for branch in error.validator_value for name in branch["required"]]
        given = [name for name in names if name in error.instance]
        message = f"{' and '.join(map(repr, given)) or 'none'} given; give one of {' and '.join(map(repr, names))}"
        return [file.problem(path, message)]
    if kind == "anyOf" and error.context:
        # the branch that got furthest says best what is meant
        deepest = max(error.context, key=lambda e: (len(e.absolute_path), e.validator != "type"))
        return _explain(file, deepest)
    if kind == "additionalProperties":
        known = schema.get("properties", {})
        unknown = [k for k in error.instance if k not in known]
        return [file.problem((*path, k), _plain_boolean(k) or f"unknown property{near(k, known)}") for k in unknown]
    if kind == "required":
        missing = [k for k in error.validator_value if k not in error.instance]
        return [file.problem(path, f"{k!r} is missing") for k in missing if repr(k) in error.message]
    if kind == "enum":
        noun = schema.get("x-noun", "value here")
        article = "an" if noun[0] in "aeio" else "a"
        message = f"{error.instance!r} is not {article} {noun}{near(error.instance, error.validator_value)}"
    elif kind == "propertyNames":
        name = error.instance
        parent = error.parent.schema.get("propertyNames", {}) if error.parent else {}
        message = f"{name!r} cannot be a name here: {parent.get('description', error.message)}"
    elif kind == "type":
        wanted = error.validator_value if isinstance(error.validator_value, str) else " or ".join(error.validator_value)
        message = f"{_short(error.instance)} is not of type {wanted}"
        if wanted == "string" and not isinstance(error.instance, dict | list):
            message += "; put it in quotes"  # YAML reads yes, no, on, off, 7 and 2026-11-30 as something else
    elif kind == "pattern":
        message = f"{_short(error.instance)} does not fit: {schema.get('x-noun', schema.get('description', ''))}"
    elif kind in ("minItems", "minProperties", "maxItems", "maxProperties"):
        message = f"{len(error.instance)} given; at {'least' if kind.startswith('min') else 'most'} {error.validator_value}"
    else:
        message = error.message if len(error.message) < 200 else error.message[:200] + "..."
    return [file.problem(path, message)]


def _plain_boolean(key: Any) -> str:
    """What to say of a key that YAML 1.1 has made a boolean of, or ""."""
    if not isinstance(key, bool):
        return ""
    words = "on, yes and true" if key else "off, no and false"
    return f"plain {words} are read as {str(key).lower()}; write the name in quotes, e.g. \"{'on' if key else 'off'}\""


def _short(value: Any) -> str:
    text = re.sub(r"//[^/\s]*@", "//...@", repr(value))  # a key may stand in an address
    return text if len(text) <= 60 else text[:57] + "..."
