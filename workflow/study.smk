# A study of one's own: its runs in parts, side by side. Start it with ./reproduce study FILE, which says what it takes, names
# the jobs of what is missing, and gathers what they give.
from pathlib import Path

place = Path("results/engine")


rule all:
    default_target: True
    input:
        [
            place / "studies" / config["study"] / "parts" / f"{job}.done"
            for job in config["jobs"]
        ],


# Every run is kept as it is finished, so that an interrupted job goes on where it was; the output says that all are there.
rule simulate_runs:
    input:
        study=ancient(place / "studies/{study}/study.json"),
    output:
        place / "studies/{study}/parts/{part}.done",
    log:
        place / "logs/study/{study}/{part}.log",
    benchmark:
        place / "benchmarks/study/{study}.{part}.tsv"
    wildcard_constraints:
        part=r"\d+-of-\d+",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=config["memory_mb"],
        runtime=config["runtime_min"],
    shell:
        "python -m tcpfair study-part --study {wildcards.study:q} --part {wildcards.part} 2>&1 | tee {log:q}"
