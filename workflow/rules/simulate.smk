# Traces: the runs that are nowhere yet, in parts, side by side; then the trace, put together from all that is there.
# Finished runs are kept as they come (results/<source>/runs), so that an interrupted simulation goes on where it was.
# The longest parts go first, and what is simulated is put together and measured at once, before more is simulated.
# Groups are for clusters: what takes seconds shares a job there (workflow/profiles/slurm/config.yaml says how many). `assemble`
# removes the parts, which a group that had both would miss at its end.


rule warm_engine:
    output:
        plan.layout.results / "engine.warm",
    log:
        plan.layout.results / "logs/warm_engine.log",
    benchmark:
        plan.layout.results / "benchmarks/compile/engine.tsv"
    conda:
        "../../envs/environment.yaml"
    params:
        source=plan.config.source,
    shell:
        "python -m tcpfair warm-engine --source {params.source} --output {output:q} 2>&1 | tee {log:q}"


rule simulate:
    input:
        config=ancient("config/papers/{paper}.yaml"),
        warm=ancient(rules.warm_engine.output[0]),
    output:
        plan.layout.results / "runs/{paper}/{experiment}/{part}.json",
    log:
        plan.layout.results / "logs/simulate/{paper}/{experiment}.{part}.log",
    benchmark:
        plan.layout.results / "benchmarks/simulate/{paper}/{experiment}.{part}.tsv"
    priority: lambda w: plan.priority(w.paper, w.experiment)
    group:
        lambda w: plan.batch(w.paper, w.experiment)
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=1000,
        runtime=lambda w: plan.minutes(w.paper, w.experiment),
    params:
        source=plan.config.source,
    shell:
        "python -m tcpfair simulate --source {params.source} --paper {wildcards.paper}"
        " --experiment {wildcards.experiment:q} --part {wildcards.part:q} --output {output:q} 2>&1 | tee {log:q}"


rule assemble:
    input:
        config=ancient("config/papers/{paper}.yaml"),
        parts=lambda w: [
            ancient(plan.part_file(w.paper, w.experiment, part))
            for part in plan.parts(w.paper, w.experiment)
        ],
    output:
        plan.layout.results / "traces/{paper}/{experiment}.json",
    log:
        plan.layout.results / "logs/assemble/{paper}/{experiment}.log",
    benchmark:
        plan.layout.results / "benchmarks/assemble/{paper}/{experiment}.tsv"
    priority: plan.AT_ONCE
    group:
        lambda w: plan.gathering(w.paper, w.experiment)
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=2000,
    params:
        source=plan.config.source,
    shell:
        "python -m tcpfair assemble --source {params.source} --paper {wildcards.paper}"
        " --experiment {wildcards.experiment:q} --output {output:q} {input.parts:q} 2>&1 | tee {log:q}"


# Smoke runs: every experiment of a paper for a few seconds, in one process, as starting one costs more than most of them.
rule rehearse:
    input:
        config=ancient("config/papers/{paper}.yaml"),
        warm=ancient(rules.warm_engine.output[0]),
    output:
        plan.layout.results / "rehearsals/{paper}.csv",
    log:
        plan.layout.results / "logs/rehearse/{paper}.log",
    benchmark:
        plan.layout.results / "benchmarks/rehearse/{paper}.tsv"
    conda:
        "../../envs/environment.yaml"
    params:
        smoke_s=plan.config.smoke_duration_s,
        planned=plan.planned,
    shell:
        "python -m tcpfair rehearse --source engine --paper {wildcards.paper} --smoke-s {params.smoke_s}"
        " --planned {params.planned:q} --output {output:q} 2>&1 | tee {log:q}"
