"""What the papers ran: the schema of config/, scenarios, settings of assumptions."""
