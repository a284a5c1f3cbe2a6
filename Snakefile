# The workflow: traces -> metrics -> notebooks -> ledger -> report. Start it with ./reproduce, which first removes what is
# not made from today's inputs; Snakemake then makes what is missing. What there is to do comes from tcpfair.workflow.plan.
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version
from tcpfair.errors import InputError
from tcpfair.workflow.plan import WRITE_UP, Plan

min_version("8.20")


configfile: "config/config.yaml"


try:
    plan = Plan(config, Path())
except InputError as error:
    raise WorkflowError(f"error: {error}") from None


include: "workflow/rules/simulate.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/present.smk"


rule all:
    default_target: True
    input:
        plan.outputs,
