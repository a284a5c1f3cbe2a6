"""What everything agrees on: configuration, scenarios, traces, manifests, and where files stand."""
