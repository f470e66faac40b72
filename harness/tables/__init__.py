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
    "interface": "interface:interface",
    "high_confidence_errors": "confidence:high_confidence_errors",
    "calibration": "confidence:calibration",
    # the modality suites
    "prospective_summary": "self_reports:prospective_summary",
    "prospective": "self_reports:prospective",
    "sufficiency_summary": "self_reports:sufficiency_summary",
    "sufficiency_flag": "self_reports:sufficiency_flag",
    "attribution": "self_reports:attribution",
    "attribution_agreement": "self_reports:attribution_agreement",
    "known_sufficiency": "self_reports:known_sufficiency",
    "alignment": "evidence:alignment",
    "task_performance": "task_performance:task_performance",
    "prospective_wirings": "self_reports:prospective_wirings",
    "attribution_wirings": "self_reports:attribution_wirings",
    "assessment_cost_summary": "task_performance:assessment_cost_summary",
    "assessment_cost": "task_performance:assessment_cost",
    "noise_floor": "task_performance:noise_floor",
    "usable_rows": "losses:usable_rows",
    "row_losses": "losses:row_losses",
    "near_misses": "losses:near_misses",
    "reproducibility": "reproducibility:reproducibility",
    "flips": "reproducibility:flips",
    "attrition": "attrition:attrition",
    "cost": "cost:cost",
}
