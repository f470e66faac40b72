"""A figure's SVG made fit to stand inside a page.

The page's Content-Security-Policy forbids inline styles, and two figures may use the same ids. Only drawing elements
are kept; their styles become attributes, which the page's style sheet can then recolour for dark screens.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

SPACE = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_KEPT = {
    "svg",
    "g",
    "path",
    "text",
    "tspan",
    "use",
    "defs",
    "clipPath",
    "rect",
    "circle",
    "line",
    "polyline",
    "polygon",
    "pattern",
    "title",
}
_ATTRIBUTES = {
    "fill",
    "stroke",
    "opacity",
    "d",
    "x",
    "y",
    "dx",
    "dy",
    "width",
    "height",
    "cx",
    "cy",
    "r",
    "x1",
    "x2",
    "y1",
    "y2",
    "points",
    "transform",
    "viewBox",
    "id",
    "clip-path",
    "clipPathUnits",
    "patternUnits",
    "font-size",
    "font-weight",
    "font-style",
    "text-anchor",
    "stroke-width",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "fill-opacity",
    "stroke-opacity",
    "fill-rule",
    "href",
}
_FONT = re.compile(r"(?:(bold|italic|oblique|\d{3}|normal)\s+)*([\d.]+)px\b")


def inline(svg: bytes, name: str, title: str) -> str:
    """The drawing as markup for HTML, with ids that start with ``name``, and ``title`` for those who do not see it.

    Raises:
        ValueError: not SVG.
    """
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"figure {name}: not SVG ({error})") from None
    made = _element(root, name)
    if made is None:
        raise ValueError(f"figure {name}: the outer element is {root.tag!r}, not svg")
    made.set("role", "img")
    made.set("aria-label", title)
    for unit in ("width", "height"):
        made.set(unit, f"{float(made.get(unit, '0').removesuffix('pt')) * 4 / 3:.0f}")
    return ElementTree.tostring(made, encoding="unicode")


def _element(node: ElementTree.Element, name: str) -> ElementTree.Element | None:
    tag = node.tag.removeprefix(f"{{{SPACE}}}") if isinstance(node.tag, str) else ""
    if tag not in _KEPT:
        return None
    made = ElementTree.Element(tag)
    attributes = {k if k != _LINK else "href": v for k, v in node.attrib.items()}
    attributes |= _style(attributes.pop("style", ""))
    for key, value in attributes.items():
        if key not in _ATTRIBUTES:
            continue
        if key == "id":
            value = f"{name}-{value}"
        elif key == "href":
            if not value.startswith("#"):
                continue
            value = f"#{name}-{value[1:]}"
        value = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{name}-{m[1]})", value)
        made.set(key, value)
    made.text, made.tail = (node.text if tag in ("text", "tspan", "title") else None), None
    for child in node:
        kept = _element(child, name)
        if kept is not None:
            if tag == "text":
                kept.tail = child.tail
            made.append(kept)
    return made


def _style(text: str) -> dict[str, str]:
    found = {}
    for piece in text.split(";"):
        key, _, value = (part.strip() for part in piece.partition(":"))
        if key == "font":
            font = _FONT.search(value)
            if font:
                found["font-size"] = font[2]
            if "bold" in value or "700" in value:
                found["font-weight"] = "bold"
        elif key and value:
            found[key] = value.removesuffix("px") if key == "font-size" else value
    return found
