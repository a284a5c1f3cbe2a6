# The jobs of a campaign: the papers' simulations, smoke runs, an ensemble, a study, the validation.
# tcpfair.workflow.executor writes the list of jobs into one file, the configuration of this one, and starts it. A job
# makes several shards; its output is the last of them.


rule all:
    default_target: True
    input:
        [f"{config['store']}/{job}{config['suffix']}" for job in config["jobs"]],


rule make_shards:
    output:
        f"{config['store']}/{{job}}{config['suffix']}",
    log:
        f"{config['logs']}/{{job}}.log",
    benchmark:
        f"{config['benchmarks']}/{{job}}.tsv"
    wildcard_constraints:
        job=".+",
    priority: lambda w: config["jobs"][w.job]["priority"]
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=config["memory_mb"],
        runtime=lambda w: config["jobs"][w.job]["runtime_min"],
    params:
        campaign=config["campaign"],
    shell:
        "python -m tcpfair job --campaign {params.campaign:q} --job {wildcards.job:q} 2>&1 | tee {log:q}"
