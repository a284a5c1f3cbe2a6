"""Agreement of the engine with other simulators on the scenarios of ``config/validation.yaml``.

`scenarios` selects the runs of each simulator, `measures` computes the metrics of a run from its trace, `campaign` runs a
simulator, `shipped` stores the results of ns-2 and ns-3 in ``data/validation``, `agreement` compares, `page` shows the result.
"""
