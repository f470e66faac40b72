"""Adaptation: LoRA arms, and whether they learn the rule or the shortcut (optical-spectra paper, sections 5.3 and 5.4).

    spec       arm and pool declarations of specs/adaptation/
    pools      training requests from the same task code, structures disjoint from every test set; development split
    epochs     when training stops and which epoch is kept; pure functions
    base       the frozen model: where its weights lie, its chat template, the parameters that a LoRA adds
    batches    requests as tokens, bucketed by length, in a seeded order
    loop       the training loop: last position only, resumable, a line of log an epoch
    fast       shorter ways to what peft and transformers compute
    adapters   finished adapters as models: ARM/SEED -> folder, checked against its base
    curve      the training curve as a picture

Torch, transformers and peft are imported inside the functions that train, and by fast, so that the rest works without
them.
"""
