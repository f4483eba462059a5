"""Real peers for tests: Apache's tools and clients, a raw client, a proxy, networks of their own, load."""
