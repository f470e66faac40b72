"""Outcomes of the modality suites written down by hand."""

from __future__ import annotations

from typing import Any

from harness.outcome import Outcome


def outcome(instance: str, arm: str, template: str, choice: str | None, claims: dict[str, str] | None = None,
            expected: str = "A", **more: Any) -> Outcome:
    """One row; ``choice`` None is an unparsed reply. Facts go in as keywords ``fact_NAME``."""
    facts = {"arm": arm, "inputs": ["text", "image"], "score": "accuracy", "shared": False,
             **{k.removeprefix("fact_"): v for k, v in more.items() if k.startswith("fact_")}}
    more = {k: v for k, v in more.items() if not k.startswith("fact_")}
    model, repeat, spec = more.pop("model", "m"), more.pop("repeat", 0), more.pop("spec", "s")
    return Outcome(
        key=f"{spec}/t/{instance}/orig/{arm}/{template}/{repeat}/{model}",
        spec=spec,
        dataset="d",
        task="t",
        instance=instance,
        cluster=more.pop("cluster", instance),
        variant="orig",
        relation="same",
        core=False,
        view=arm,
        modality="both",
        unit="",
        order="",
        template=template,
        model=model,
        repeat=repeat,
        status=more.pop("status", "usable" if choice is not None else "unparsed"),
        choice=choice,
        expected=expected,
        correct=choice == expected if choice is not None else None,
        abstained=False,
        claims=claims or {},
        facts=facts,
        **more,
    )


def item(
    name: str, plain: str, assessed: str, stated: str, flags: str = "SS", joint_claim: str = "", **more: Any
) -> list[Outcome]:
    """All six arms of one item.

    Args:
        plain, assessed: answers of the arms both, text, image under each template, one letter each; ``-`` is unparsed.
        stated: alone-answers that the joint assessment claims for text and image.
        flags: S or I of the text and the image assessment.
        joint_claim: joint answers that the text and the image assessment claim; default their own answer.
    """
    rows = []
    claimed = joint_claim or assessed[1:]
    words = {"S": "SUFFICIENT", "I": "INSUFFICIENT"}
    for i, arm in enumerate(("both", "text", "image")):
        rows.append(outcome(name, arm, "plain", None if plain[i] == "-" else plain[i], **more))
        claims = (dict(zip(("text", "image"), stated, strict=True)) if arm == "both"
                  else {"both": claimed[i - 1], "sufficiency": words[flags[i - 1]]})
        lost = assessed[i] == "-"
        rows.append(outcome(name, arm, "assessment", None if lost else assessed[i], {} if lost else claims, **more))
    return rows
