# What is read: executed notebooks, the ledger, the report, and last the check that every exhibit was drawn.


rule notebook:
    input:
        sources=lambda w: plan.sources(w.paper),
        data=lambda w: plan.shown(w.paper),
    output:
        "results/{source}/notebooks/{paper}.ipynb",
        "results/{source}/notebooks/{paper}.html",
    log:
        "results/{source}/logs/notebook/{paper}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        stamp=lambda w: plan.stamp("notebook", w.paper),
        only=plan.config.only,
        trace=plan.config.trace,
    shell:
        "python -m tcpfair notebook --source {wildcards.source} --paper {wildcards.paper} --stamp {params.stamp}"
        " --trace={params.trace:q} --only {params.only} 2>&1 | tee {log}"


rule ledger:
    input:
        [plan.notebook(paper) for paper in plan.notebooks],
        [plan.layout.metrics(*pair) for pair in plan.measured],
        [plan.layout.paper_config(paper) for paper in plan.papers],
        plan.compared,
        plan.code("ledger"),
    output:
        plan.ledger_tables,
    log:
        plan.layout.results / "logs" / "ledger.log",
    conda:
        "../../envs/environment.yaml"
    params:
        stamp=plan.stamp("ledger"),
        source=plan.config.source,
    shell:
        "python -m tcpfair ledger --source {params.source} --stamp {params.stamp} 2>&1 | tee {log}"


rule report:
    input:
        plan.ledger_tables,
        plan.code("report"),
    output:
        plan.report,
    log:
        plan.layout.results / "logs" / "report.log",
    conda:
        "../../envs/environment.yaml"
    params:
        stamp=plan.stamp("report"),
        source=plan.config.source,
    shell:
        "python -m tcpfair report --source {params.source} --stamp {params.stamp} 2>&1 | tee {log}"


rule check:
    input:
        plan.opened,
    output:
        plan.checked,
    log:
        plan.layout.results / "logs" / "check.log",
    conda:
        "../../envs/environment.yaml"
    params:
        source=plan.config.source,
    shell:
        "python -m tcpfair check --source {params.source} --output {output} 2>&1 | tee {log}"
