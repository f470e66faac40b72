"""The hash of a package's own source, for backends whose replies depend on nothing but their code."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path


@cache
def source_sha256(*modules: str) -> str:
    """Hash of the Python files of the named modules and packages, in a fixed order, found without importing them."""
    digest = hashlib.sha256()
    for name in modules:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        roots = spec.submodule_search_locations
        files = sorted(Path(roots[0]).rglob("*.py")) if roots else [Path(spec.origin)]
        for file in files:
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
