"""The figures of a report, each made from one of its tables, so that a number stands in one place only.

To add a figure: one function ``(table, document) -> Figure | None`` and one line here. The name is the file stem.
"""

FIGURES = {
    "accuracy_by_task": ("views:accuracy_by_task", "accuracy_by_task"),
    "compare_by_view": ("views:heat_map", "compare_by_view"),
    "compare_by_arm": ("views:compare_by_arm", "accuracy_by_task"),
    "paired_effects": ("views:paired_effects", "paired_difference"),
    "agreement": ("views:agreement", "agreement"),
    "flips": ("views:heat_map", "flips"),
    "wording": ("views:wording", "wording"),
    "scope_plane": ("scope:plane", "scope"),
    "middle_gap_abstention": ("views:heat_map", "middle_gap_abstention"),
    "reliability": ("quality:reliability", "calibration"),
    "predicted_and_executed": ("self_reports:predicted_and_executed", "prospective"),
    "insufficiency": ("self_reports:insufficiency", "sufficiency_flag"),
    "alignment": ("self_reports:alignment", "alignment"),
    "attribution": ("self_reports:attribution", "attribution"),
    "attrition": ("quality:attrition", "attrition"),
    "cost_and_accuracy": ("quality:cost_and_accuracy", "cost"),
}
"""Name -> function, and the table it draws."""
