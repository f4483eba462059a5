"""Handlers of administrators' requests, ApiVersions and Metadata: one file per API."""
