# Smoke runs: every experiment of a paper for a few seconds, in one process, as starting one costs more than most of them.


rule rehearse:
    input:
        code=plan.code("measure"),
        warm="results/{source}/engine.warm",
    output:
        "results/{source}/rehearsals/{paper}.csv",
    log:
        "results/{source}/logs/rehearse/{paper}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        stamp=lambda w: plan.stamp("rehearse", w.paper),
        smoke_s=plan.config.smoke_duration_s,
    shell:
        "python -m tcpfair rehearse --source {wildcards.source} --paper {wildcards.paper} --stamp {params.stamp}"
        " --smoke-s {params.smoke_s} --output {output} 2>&1 | tee {log}"
