"""A reader of rendered evidence that answers every request from what a model is shown, and from nothing else.

It proves that the questions are answerable as keyed and that the evidence is readable: tables are parsed from their
text, plots are digitised from their pixels, questions and options are read as sentences. It imports the vocabulary and
nothing that renders, words, cuts or labels, and judges by nothing in ``Request.truth`` or ``Request.key``.

    chart       what was read: an axis and sampled curves with holes
    tables      csv, markdown and JSON text -> chart
    raster      PNG bytes -> palette indices
    glyphs      letters and digits by comparison with the font's own
    axes        frame, ticks, tick labels, titles and legend of a plot
    strokes     coloured pixels -> lines by pixel column
    polyline    a line -> its corners, which are the samples
    curves      lines -> sampled curves
    plots       PNG bytes -> chart, by the above
    question    question and options -> what is asked
    answer      the decision
"""
