"""Runs against each other, and against a baseline in the repository.

arms        what is compared: the models of runs, and the requests they share
paired      differences of every metric on these requests, paired and clustered by instance; which decisions flipped
baseline    a run as a small JSON file, so that continuous integration can gate on change
pages       the comparison as Markdown and as a page
"""
