# The validation: parts of the simulations, side by side, the largest first; then the page that compares. Start it with
# ./reproduce validate, which removes what is not made from today's inputs and names the jobs of what is missing.
from pathlib import Path

place = Path("results/validation")


rule all:
    default_target: True
    input:
        config["page"]
        or [place / config["kind"] / f"{job}.done" for job in config["jobs"]],


# Every part is kept as it is finished, so that an interrupted job goes on where it was; the output says that all are there.
rule simulate_part:
    input:
        config=lambda w: ancient(
            "config/testbed.yaml" if w.kind == "kernel" else "config/validation.yaml"
        ),
    output:
        place / "{kind}/{job}.done",
    log:
        place / "logs/{kind}/{job}.log",
    benchmark:
        place / "benchmarks/{kind}/{job}.tsv"
    wildcard_constraints:
        kind="whole|quick|kernel",
        job=".+",
    priority: lambda w: config["jobs"][w.job]
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=1000,
    shell:
        "python -m tcpfair validate-part --kind {wildcards.kind} --job {wildcards.job:q} 2>&1 | tee {log:q}"


if config["page"]:

    rule compare:
        input:
            [ancient(place / config["kind"] / f"{job}.done") for job in config["jobs"]],
            config=ancient("config/validation.yaml"),
        output:
            config["page"],
        log:
            place / "logs/compare.log",
        benchmark:
            place / "benchmarks/compare.tsv"
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=1500,
        shell:
            "python -m tcpfair validate-page 2>&1 | tee {log:q}"
