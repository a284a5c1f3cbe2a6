# Traces: each experiment's runs in parts, side by side, then joined. Not used by source bundled, whose traces are shipped.


scattergather:
    part=plan.config.shards,


rule warm_engine:
    input:
        plan.code("simulate"),
    output:
        "results/{source}/engine.warm",
    log:
        "results/{source}/logs/warm_engine.log",
    conda:
        "../../envs/environment.yaml"
    shell:
        "python -m tcpfair warm-engine --source {wildcards.source} --output {output} 2>&1 | tee {log}"


rule simulate:
    input:
        code=plan.code("simulate"),
        warm="results/{source}/engine.warm",
    output:
        temp(directory("results/{source}/shards/{paper}/{experiment}/{scatteritem}")),
    log:
        "results/{source}/logs/simulate/{paper}/{experiment}.{scatteritem}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        stamp=lambda w: plan.stamp("simulate", w.paper, w.experiment),
    shell:
        "python -m tcpfair simulate --source {wildcards.source} --paper {wildcards.paper} --stamp {params.stamp}"
        " --experiment {wildcards.experiment} --part {wildcards.scatteritem} --output {output}"
        " 2>&1 | tee {log}"


rule gather:
    input:
        parts=gather.part(
            "results/{{source}}/shards/{{paper}}/{{experiment}}/{scatteritem}"
        ),
        code=plan.code("simulate"),
    output:
        "results/{source}/traces/{paper}/{experiment}/manifest.json",
    log:
        "results/{source}/logs/gather/{paper}/{experiment}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        stamp=lambda w: plan.stamp("simulate", w.paper, w.experiment),
    shell:
        "python -m tcpfair gather --source {wildcards.source} --paper {wildcards.paper} --stamp {params.stamp}"
        " --experiment {wildcards.experiment} {input.parts} 2>&1 | tee {log}"
