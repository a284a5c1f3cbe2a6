"""Agreement of the engine with other simulators on the scenarios of ``config/validation.yaml``.

`scenarios` chooses the runs of each simulator, `measures` takes the metrics of a run from its trace, `campaign` runs a
simulator, `shipped` keeps what ns-2 and ns-3 gave in ``data/validation``, `agreement` compares, `page` shows it.
"""
