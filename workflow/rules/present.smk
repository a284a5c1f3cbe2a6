# What is read: numbers, executed notebooks with their figures, the ledger, the report, and last the check that all were drawn.


for paper in plan.numbered:

    rule:
        name:
            f"numbers_{paper}"
        input:
            config=ancient(plan.layout.paper_config(paper)),
            data=[ancient(path) for path in plan.shown(paper)],
        output:
            plan.numbers(paper),
        log:
            plan.layout.results / f"logs/numbers/{paper}.log",
        benchmark:
            plan.layout.results / f"benchmarks/numbers/{paper}.tsv"
        group:
            "notebooks"
        conda:
            "../../envs/environment.yaml"
        resources:
            mem_mb=2000,
        params:
            source=plan.config.source,
            paper=paper,
            exhibits=[e.id for config, e in plan.exhibits if config.paper == paper],
            planned=plan.planned,
        shell:
            "python -m tcpfair numbers --source {params.source} --paper {params.paper} --exhibits {params.exhibits:q}"
            " --planned {params.planned:q} 2>&1 | tee {log:q}"


for paper in plan.notebooks:

    rule:
        name:
            f"notebook_{paper}"
        input:
            source=ancient(plan.notebook_source(paper)),
            data=[ancient(path) for path in plan.shown(paper)],
        output:
            pages=plan.pages(paper),
            drawn=plan.drawn_by(paper),
        log:
            plan.layout.results / f"logs/notebook/{paper}.log",
        benchmark:
            plan.layout.results / f"benchmarks/notebook/{paper}.tsv"
        group:
            "notebooks"
        conda:
            "../../envs/environment.yaml"
        resources:
            mem_mb=2000,
        params:
            source=plan.config.source,
            only=lambda w: plan.config.only,
            draw=[exhibit.id for exhibit in plan.drawn_of(paper)],
            trace=lambda w: plan.config.trace,
            planned=plan.planned,
        shell:
            "python -m tcpfair notebook --source {params.source} --notebook {input.source:q}"
            " --trace={params.trace:q} --only {params.only:q} --draw {params.draw:q}"
            " --planned {params.planned:q} --output {output.pages:q} 2>&1 | tee {log:q}"


rule place:
    input:
        [ancient(plan.layout.paper_config(paper)) for paper in plan.papers],
        [ancient(path) for path in plan.placed_from],
    output:
        plan.placed_tables,
    log:
        plan.layout.results / "logs/place.log",
    benchmark:
        plan.layout.results / "benchmarks/place.tsv"
    group:
        "notebooks"
    conda:
        "../../envs/environment.yaml"
    params:
        source=plan.config.source,
        papers=list(plan.papers),
        planned=plan.planned,
    shell:
        "python -m tcpfair place --source {params.source} --papers {params.papers} --planned {params.planned:q}"
        " 2>&1 | tee {log:q}"


rule ledger:
    input:
        [ancient(table) for table in plan.placed_tables],
        [ancient(path) for paper in plan.numbered for path in plan.numbers(paper)],
        [ancient(page) for paper in plan.notebooks for page in plan.pages(paper)],
        [ancient(plan.layout.metrics(*pair)) for pair in plan.measured],
        [ancient(plan.layout.paper_config(paper)) for paper in plan.papers],
        [ancient(path) for path in plan.compared],
    output:
        plan.ledger_tables,
    log:
        plan.layout.results / "logs/ledger.log",
    benchmark:
        plan.layout.results / "benchmarks/ledger.tsv"
    group:
        "pages"
    conda:
        "../../envs/environment.yaml"
    params:
        source=plan.config.source,
        papers=plan.config.papers,
        only=lambda w: plan.config.only,
        planned=plan.planned,
    shell:
        "python -m tcpfair ledger --source {params.source} --papers {params.papers} --only {params.only:q}"
        " --planned {params.planned:q} 2>&1 | tee {log:q}"


rule report:
    input:
        [ancient(table) for table in plan.ledger_tables],
        [ancient(page) for page in plan.beside_made],
    output:
        plan.report,
    log:
        plan.layout.results / "logs/report.log",
    benchmark:
        plan.layout.results / "benchmarks/report.tsv"
    group:
        "pages"
    conda:
        "../../envs/environment.yaml"
    params:
        source=plan.config.source,
        planned=plan.planned,
    shell:
        "python -m tcpfair report --source {params.source} --planned {params.planned:q} 2>&1 | tee {log:q}"


rule check:
    input:
        ancient(plan.opened),
    output:
        plan.checked,
    log:
        plan.layout.results / "logs/check.log",
    group:
        "pages"
    conda:
        "../../envs/environment.yaml"
    params:
        source=plan.config.source,
        exhibits=[exhibit.id for _, exhibit in plan.exhibits],
        trace=lambda w: plan.config.trace,
    shell:
        "python -m tcpfair check --source {params.source} --trace={params.trace:q} --exhibits {params.exhibits:q} --output {output:q}"
        " 2>&1 | tee {log:q}"


# The packet lab: the engine itself, compiled for browsers, with every run of the papers as a preset.
if plan.lab:

    rule lab:
        input:
            [ancient(path) for path in plan.lab_inputs],
        output:
            plan.lab,
        log:
            plan.layout.results / "logs/lab.log",
        benchmark:
            plan.layout.results / "benchmarks/lab.tsv"
        group:
            "notebooks"
        conda:
            "../../envs/environment.yaml"
        params:
            source=plan.config.source,
            planned=plan.planned,
        shell:
            "python -m tcpfair packet-lab --source {params.source} --planned {params.planned:q} --output {output:q}"
            " 2>&1 | tee {log:q}"


# What reproduces: it shows the ledger, so that it comes last.
if plan.write_up:

    rule write_up:
        input:
            source=ancient(plan.notebook_source(WRITE_UP)),
            ledger=[ancient(table) for table in plan.ledger_tables],
        output:
            pages=plan.pages(WRITE_UP),
        log:
            plan.layout.results / f"logs/notebook/{WRITE_UP}.log",
        benchmark:
            plan.layout.results / f"benchmarks/notebook/{WRITE_UP}.tsv"
        group:
            "pages"
        conda:
            "../../envs/environment.yaml"
        params:
            source=plan.config.source,
            planned=plan.planned,
        shell:
            "python -m tcpfair notebook --source {params.source} --notebook {input.source:q} --trace= --only --draw"
            " --planned {params.planned:q} --output {output.pages:q} 2>&1 | tee {log:q}"
