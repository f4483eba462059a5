"""The web manager: pages and a JSON interface about clusters, through the asyncio clients (extra `manager`)."""
