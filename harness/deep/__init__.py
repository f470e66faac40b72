"""``isoprobe validate --deep``: is a suite answerable, and only from its evidence?

    survey      every request once: the oracle's answer, and what a request shows without being read
    features    surface features as bins
    bayes       a small cross-validated classifier on bins, for many permuted labellings at once
    chance      labellings as likely as the true one when surface says nothing
    leakage     what is predicted from what, against chance, and where the design itself gives it away
    balance     answers, positions of the right option, cuts
    duplicates  instances that show the same or nearly the same
    context     prompts against the declared context of models
    check       all of it for one spec, with the problems it found
    page        the findings as tables for a terminal
"""

from __future__ import annotations
