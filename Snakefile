# From traces to the report: metrics -> numbers -> notebooks with exhibits -> ledger -> report. Start it with ./reproduce, which
# first has the missing runs simulated (workflow/campaign.smk).
#
# The name of an output's folder has the digest of its inputs (src/tcpfair/workflow/plan.py): a stale output has another
# name, so Snakemake builds the new one. A finished step copies its output to the stable names that people and later
# steps read.
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version
from tcpfair.errors import InputError
from tcpfair.workflow.plan import WRITE_UP, Plan

min_version("9.0")


configfile: "config/config.yaml"


try:
    plan = Plan(config, Path())
except InputError as error:
    raise WorkflowError(f"error: {error}") from None

results = plan.layout.results


rule all:
    default_target: True
    input:
        plan.targets(),


# --- Each paper: the metrics of its experiments, numbers of its exhibits and verdicts on its claims; then its notebook ---------

for paper in plan.papers:

    if any(plan.to_make(kind, paper) for kind in ("measure", "numbers", "judge")):

        rule:
            name:
                f"measure_{paper}"
            output:
                metrics=plan.to_make("measure", paper),
                numbers=plan.to_make("numbers", paper),
                judged=plan.to_make("judge", paper),
            log:
                results / f"logs/measure/{paper}.log",
            benchmark:
                results / f"benchmarks/measure/{paper}.tsv"
            priority: 1000
            group:
                "measure"
            conda:
                "envs/environment.yaml"
            resources:
                mem_mb=2000,
            params:
                source=plan.config.source,
                paper=paper,
                exhibits=[e.id for config, e in plan.exhibits if config.paper == paper],
                papers=plan.config.papers,
                only=plan.config.only,
            shell:
                "python -m tcpfair measure --source {params.source} --paper {params.paper} --exhibits {params.exhibits:q}"
                " --papers {params.papers} --only {params.only:q} --output {output.metrics:q} --numbers {output.numbers:q}"
                " --judged {output.judged:q} 2>&1 | tee {log:q}"


for run, paper in [
    (each, paper) for each in (plan, plan.beside) if each for paper in each.notebooks
]:

    rule:
        name:
            f"notebook_{paper}"
        input:
            run.targets("measure", paper),
            run.targets("numbers", paper),
        output:
            page=run.targets("notebook", paper),
            drawn=run.to_make("draw", paper),
        log:
            results / f"logs/notebook/{paper}.log",
        benchmark:
            results / f"benchmarks/notebook/{paper}.tsv"
        priority: len(run.to_make("draw", paper))
        group:
            "notebooks"
        conda:
            "envs/environment.yaml"
        resources:
            mem_mb=2000,
        params:
            source=run.config.source,
            notebook=run.notebook_source(paper),
            only=run.config.only,
            trace=lambda w, run=run: run.config.trace,  # a function: its braces are not wildcards
        shell:
            "python -m tcpfair notebook --source {params.source} --notebook {params.notebook:q} --trace={params.trace:q}"
            " --only {params.only:q} --draw {output.drawn:q} --output {output.page:q} 2>&1 | tee {log:q}"


# --- All papers: the shipped ensembles, the ledger, the report, the packet lab, and the notebook that shows the ledger ----------


if plan.to_make("place"):

    rule place:
        output:
            plan.to_make("place"),
        log:
            results / "logs/place.log",
        benchmark:
            results / "benchmarks/place.tsv"
        priority: 1000
        group:
            "notebooks"
        conda:
            "envs/environment.yaml"
        params:
            source=plan.config.source,
        shell:
            "python -m tcpfair place --source {params.source} --output {output:q} 2>&1 | tee {log:q}"


rule compare:
    input:
        plan.targets("measure"),
        plan.targets("numbers"),
        plan.targets("place"),
    output:
        plan.targets("compare"),
    log:
        results / "logs/compare.log",
    benchmark:
        results / "benchmarks/compare.tsv"
    priority: 1000
    group:
        "pages"
    conda:
        "envs/environment.yaml"
    params:
        source=plan.config.source,
        papers=plan.config.papers,
        only=lambda w: plan.config.only,
    shell:
        "python -m tcpfair compare --source {params.source} --papers {params.papers} --only {params.only:q}"
        " --output {output:q} 2>&1 | tee {log:q}"


rule ledger:
    input:
        plan.targets("numbers"),
        plan.targets("judge"),
    output:
        plan.targets("ledger"),
    log:
        results / "logs/ledger.log",
    benchmark:
        results / "benchmarks/ledger.tsv"
    priority: 1000
    group:
        "pages"
    conda:
        "envs/environment.yaml"
    params:
        source=plan.config.source,
        papers=plan.config.papers,
        only=lambda w: plan.config.only,
    shell:
        "python -m tcpfair ledger --source {params.source} --papers {params.papers} --only {params.only:q}"
        " --output {output:q} 2>&1 | tee {log:q}"


rule report:
    input:
        plan.targets("compare"),
        plan.targets("ledger"),
        plan.targets("draw"),
    output:
        plan.targets("report"),
    log:
        results / "logs/report.log",
    benchmark:
        results / "benchmarks/report.tsv"
    group:
        "pages"
    conda:
        "envs/environment.yaml"
    params:
        source=plan.config.source,
        papers=plan.config.papers,
        only=plan.config.only,
        linked=plan.linked,
    shell:
        "python -m tcpfair report --source {params.source} --papers {params.papers} --only {params.only:q}"
        " --linked {params.linked:q} --output {output:q} 2>&1 | tee {log:q}"


rule lab:
    output:
        plan.targets("lab"),
    log:
        results / "logs/lab.log",
    benchmark:
        results / "benchmarks/lab.tsv"
    priority: 100  # before the notebooks: it needs nothing, and a first build compiles the page's engine
    group:
        "notebooks"
    conda:
        "envs/environment.yaml"
    params:
        source=plan.config.source,
    shell:
        "python -m tcpfair packet-lab --source {params.source} --output {output:q} 2>&1 | tee {log:q}"


# exclude up-to-date outputs: Snakemake would rebuild them after the ledger
if plan.to_make("notebook", WRITE_UP):

    rule write_up:
        input:
            plan.targets("compare"),
            plan.targets("ledger"),
            plan.targets("draw"),
        output:
            plan.targets("notebook", WRITE_UP),
        log:
            results / f"logs/notebook/{WRITE_UP}.log",
        benchmark:
            results / f"benchmarks/notebook/{WRITE_UP}.tsv"
        group:
            "pages"
        conda:
            "envs/environment.yaml"
        params:
            source=plan.config.source,
            notebook=plan.notebook_source(WRITE_UP),
        shell:
            "python -m tcpfair notebook --source {params.source} --notebook {params.notebook:q} --trace= --only --draw"
            " --output {output:q} 2>&1 | tee {log:q}"
