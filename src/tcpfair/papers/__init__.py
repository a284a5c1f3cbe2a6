"""The papers' experiments: the schema of config/, scenarios, settings of assumptions."""
