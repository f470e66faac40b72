"""``junit.xml``: one case a verdict, for the test reports of CI servers.

A failure is a verdict that counts as failed; an undecided one that is allowed is skipped. Names and messages come from
models and files and are escaped; what XML cannot hold is left out.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from ..gates import failed
from .document import Document
from .text import plain

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(document: Document) -> dict[str, bytes]:
    """``junit.xml``; nothing where no gates were judged."""
    if not document.verdicts:
        return {}
    bad = failed(document.verdicts)
    allowed = [v for v in document.verdicts if v.result == "undecided" and v not in bad]
    counts = {
        "tests": str(len(document.verdicts)),
        "failures": str(len(bad)),
        "errors": "0",
        "skipped": str(len(allowed)),
    }
    root = ElementTree.Element("testsuites", {"name": "isoprobe", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _text(str(document.run.get("id", "run"))), **counts})
    for v in document.verdicts:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": _text(f"gates.{v.model}"), "name": _text(v.gate.name), "time": "0"}
        )
        if v in bad:
            ElementTree.SubElement(case, "failure", {"type": v.result, "message": _text(v.message)}).text = _text(
                v.message
            )
        elif v in allowed:
            ElementTree.SubElement(case, "skipped", {"message": _text(v.message)})
        else:
            ElementTree.SubElement(case, "system-out").text = _text(v.message)
    ElementTree.indent(root)
    return {"junit.xml": ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"}


def _text(text: str) -> str:
    return _NOT_XML.sub("", plain(text, 2000))
