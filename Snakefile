# The workflow: runs -> traces -> metrics -> notebooks with exhibits -> ledger -> report. Start it with ./reproduce.
#
# An output's folder has the digest of all that it is made from in its name (src/tcpfair/workflow/plan.py): what is stale does not
# exist, and Snakemake makes it. A step that has finished copies its output to the stable names that people and later steps read.
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version
from tcpfair.errors import InputError
from tcpfair.workflow.plan import WRITE_UP, Plan

min_version("9.0")


configfile: "config/config.yaml"


try:
    plan = Plan(config, Path())
    plan.use_written_jobs()
except InputError as error:
    raise WorkflowError(f"error: {error}") from None

results = plan.layout.results


rule all:
    default_target: True
    input:
        plan.all_targets,


# --- Traces: missing runs in jobs, side by side, the longest first; then the trace of each experiment from all shards ----------


rule warm_engine:
    output:
        results / "engine.warm",
    log:
        results / "logs/warm_engine.log",
    benchmark:
        results / "benchmarks/compile/engine.tsv"
    conda:
        "envs/environment.yaml"
    params:
        source=plan.config.source,
    shell:
        "python -m tcpfair warm-engine --source {params.source} --output {output:q} 2>&1 | tee {log:q}"


# A job writes a shard every few seconds; the last one has the job's name.
rule simulate:
    input:
        rules.warm_engine.output,
    output:
        results / "runs/{paper}/{experiment}/{job}/manifest.json",
    log:
        results / "logs/simulate/{paper}/{experiment}.{job}.log",
    benchmark:
        results / "benchmarks/simulate/{paper}/{experiment}.{job}.tsv"
    wildcard_constraints:
        job="[0-9a-f]{16}",
    priority: lambda w: plan.priority(w.paper, w.experiment)
    group:
        lambda w: plan.batch(w.paper, w.experiment)
    conda:
        "envs/environment.yaml"
    resources:
        mem_mb=1000,
        runtime=lambda w: plan.minutes(w.paper, w.experiment),
    params:
        source=plan.config.source,
        jobs=plan.jobs_file,
    shell:
        "python -m tcpfair simulate --source {params.source} --paper {wildcards.paper} --experiment {wildcards.experiment:q}"
        " --jobs {params.jobs:q} --output {output:q} 2>&1 | tee {log:q}"


for paper, experiment in plan.assembled:

    rule:
        name:
            f"assemble_{paper}_{experiment}"
        input:
            plan.job_targets(paper, experiment),
        output:
            plan.trace_target(paper, experiment),
        log:
            results / f"logs/assemble/{paper}/{experiment}.log",
        benchmark:
            results / f"benchmarks/assemble/{paper}/{experiment}.tsv"
        priority: plan.AT_ONCE
        group:
            "measure"
        conda:
            "envs/environment.yaml"
        resources:
            mem_mb=2000,
            runtime=4,
        params:
            source=plan.config.source,
            paper=paper,
            experiment=experiment,
            jobs=plan.jobs_file,
        shell:
            "python -m tcpfair assemble --source {params.source} --paper {params.paper} --experiment {params.experiment:q}"
            " --jobs {params.jobs:q} --output {output:q} 2>&1 | tee {log:q}"


# --- Each paper: the metrics of its experiments in one process, then its notebook, which draws the exhibits ---------------------

for paper in plan.papers:

    if plan.to_make("measure", paper):

        rule:
            name:
                f"measure_{paper}"
            input:
                plan.trace_targets(paper),
            output:
                plan.to_make("measure", paper),
            log:
                results / f"logs/measure/{paper}.log",
            benchmark:
                results / f"benchmarks/measure/{paper}.tsv"
            priority: plan.AT_ONCE
            group:
                "measure"
            conda:
                "envs/environment.yaml"
            resources:
                mem_mb=1500,
            params:
                source=plan.config.source,
                paper=paper,
            shell:
                "python -m tcpfair measure --source {params.source} --paper {params.paper} --output {output:q}"
                " 2>&1 | tee {log:q}"


for paper in plan.papers if plan.targets("numbers") else ():

    rule:
        name:
            f"numbers_{paper}"
        input:
            plan.targets("measure", paper),
            plan.trace_targets(paper),
        output:
            plan.targets("numbers", paper),
        log:
            results / f"logs/numbers/{paper}.log",
        benchmark:
            results / f"benchmarks/numbers/{paper}.tsv"
        priority: plan.AT_ONCE
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
        shell:
            "python -m tcpfair numbers --source {params.source} --paper {params.paper} --exhibits {params.exhibits:q}"
            " --output {output:q} 2>&1 | tee {log:q}"


for run, paper in [
    (each, paper) for each in (plan, plan.beside) if each for paper in each.notebooks
]:

    rule:
        name:
            f"notebook_{paper}"
        input:
            run.targets("measure", paper),
            run.targets("numbers", paper),
            run.trace_targets(paper),
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
            trace=lambda w, run=run: run.config.trace,  # a function: its braces are no wildcards
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
        priority: plan.AT_ONCE
        group:
            "notebooks"
        conda:
            "envs/environment.yaml"
        params:
            source=plan.config.source,
        shell:
            "python -m tcpfair place --source {params.source} --output {output:q} 2>&1 | tee {log:q}"


rule ledger:
    input:
        plan.targets("measure"),
        plan.targets("numbers"),
        plan.targets("place"),
    output:
        plan.targets("ledger"),
    log:
        results / "logs/ledger.log",
    benchmark:
        results / "benchmarks/ledger.tsv"
    priority: plan.AT_ONCE
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
    group:
        "notebooks"
    conda:
        "envs/environment.yaml"
    params:
        source=plan.config.source,
    shell:
        "python -m tcpfair packet-lab --source {params.source} --output {output:q} 2>&1 | tee {log:q}"


# what is up to date is left out: Snakemake would make it again after the report
if plan.to_make("notebook", WRITE_UP):

    rule write_up:
        input:
            plan.targets("report"),
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


# --- Smoke runs: every experiment of a paper for a few seconds, in one process ----------------------------------------------------

for paper in plan.rehearsed if plan.config.smoke else ():

    rule:
        name:
            f"rehearse_{paper}"
        input:
            rules.warm_engine.output,
        output:
            plan.targets("rehearse", paper),
        log:
            results / f"logs/rehearse/{paper}.log",
        benchmark:
            results / f"benchmarks/rehearse/{paper}.tsv"
        conda:
            "envs/environment.yaml"
        params:
            paper=paper,
            smoke_s=plan.config.smoke_duration_s,
        shell:
            "python -m tcpfair rehearse --source engine --paper {params.paper} --smoke-s {params.smoke_s}"
            " --output {output:q} 2>&1 | tee {log:q}"
