"""The report of a run, from its outcomes alone.

    run        the files of a run: run.json, outcomes.jsonl, keys.txt
    recorded   a run as one row a request, lost ones included; several runs as one
    document   everything a report says, computed once: tables, verdicts, notes, provenance
    WRITERS    turn the document into files; each is a pure function Document -> {path in the folder: bytes}
    publish    calls the writers and puts the files in place

To add a kind of file: one module with such a function, and one line here.
"""

WRITERS = {
    "markdown": "markdown:write",
    "csv": "tables_csv:write",
}
