"""The tables of a report. A builder takes rows and resamples and gives a Table, or None where there is no data.

To add a table: one function and one line here. The order is that of the report.
"""

TABLES = {
    "accuracy_by_modality": "accuracy:accuracy_by_modality",
    "accuracy_by_task": "accuracy:accuracy_by_task",
    "paired_difference": "accuracy:paired_difference",
    "agreement": "agreement:agreement",
    "compare_by_view": "accuracy:compare_by_view",
    "position_preference": "choices:position_preference",
    "wording": "wording:wording",
    "row_order": "wording:row_order",
    "scope": "scope:scope",
    "scope_by_view": "scope:scope_by_view",
    "middle_gap_abstention": "scope:middle_gap_abstention",
    "shortcuts": "choices:shortcuts",
    "high_confidence_errors": "confidence:high_confidence_errors",
    "calibration": "confidence:calibration",
    "reproducibility": "reproducibility:reproducibility",
    "flips": "reproducibility:flips",
    "attrition": "attrition:attrition",
    "cost": "cost:cost",
}
