# Metrics, one table per experiment. The trace is represented by a small file: its manifest where it is shipped.


rule measure:
    input:
        config=ancient("config/papers/{paper}.yaml"),
        trace=lambda w: ancient(plan.trace_mark(w.paper, w.experiment)),
        weights=lambda w: ancient(plan.weights_table(w.paper, w.experiment)),
    output:
        plan.layout.results / "metrics/{paper}/{experiment}.parquet",
    log:
        plan.layout.results / "logs/measure/{paper}/{experiment}.log",
    benchmark:
        plan.layout.results / "benchmarks/measure/{paper}/{experiment}.tsv"
    priority: plan.AT_ONCE
    group:
        lambda w: plan.gathering(w.paper, w.experiment)
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=1500,
    params:
        source=plan.config.source,
        trace=lambda w: plan.trace_folder(w.paper, w.experiment),
        weights=lambda w, input: ["--weights", input.weights] if input.weights else [],
        planned=plan.planned,
    shell:
        "python -m tcpfair measure --source {params.source} --paper {wildcards.paper}"
        " --experiment {wildcards.experiment:q} --trace {params.trace:q} {params.weights:q}"
        " --planned {params.planned:q} --output {output:q} 2>&1 | tee {log:q}"
