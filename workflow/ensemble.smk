# The ensemble: settings of what the papers leave out, simulated in parts, side by side. Start it with ./reproduce ensemble,
# which says what it takes, names the jobs of what is missing, and gathers what they give.
from pathlib import Path

place = Path("results/engine")


rule all:
    default_target: True
    input:
        [place / "ensemble" / f"{job}.done" for job in config["jobs"]],


# Every setting is kept as it is finished, so that an interrupted job goes on where it was; the output says that all are there.
rule simulate_settings:
    input:
        config=ancient("config/ensemble.yaml"),
        paper=ancient("config/papers/{paper}.yaml"),
    output:
        place / "ensemble/{paper}/{part}.done",
    log:
        place / "logs/ensemble/{paper}.{part}.log",
    benchmark:
        place / "benchmarks/ensemble/{paper}.{part}.tsv"
    wildcard_constraints:
        part=r"\d+-of-\d+",
    priority: lambda w: config["jobs"][f"{w.paper}/{w.part}"]
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=1000,
    params:
        settings=(
            [] if config["settings"] is None else ["--settings", config["settings"]]
        ),
    shell:
        "python -m tcpfair ensemble-part --paper {wildcards.paper} --part {wildcards.part} {params.settings}"
        " 2>&1 | tee {log:q}"
