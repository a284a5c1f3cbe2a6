# Metrics, one table per experiment. The trace is represented by its small manifest: touching a table rebuilds nothing.


rule measure:
    input:
        trace=lambda w: plan.manifest(w.paper, w.experiment),
        weights=lambda w: plan.weights_table(w.paper, w.experiment),
        code=plan.code("measure"),
    output:
        "results/{source}/metrics/{paper}/{experiment}.parquet",
    log:
        "results/{source}/logs/measure/{paper}/{experiment}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        stamp=lambda w: plan.stamp("measure", w.paper, w.experiment),
    shell:
        "python -m tcpfair measure --source {wildcards.source} --paper {wildcards.paper} --stamp {params.stamp}"
        " --experiment {wildcards.experiment} 2>&1 | tee {log}"
