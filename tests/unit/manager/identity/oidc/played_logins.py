"""Steps of a login that a test plays with the manager and the provider."""

import json
from pathlib import Path
from typing import Any

import httpx

from kafka_py.testing.web_manager import CalledManager

from .conftest import CodeProvider


async def begun(manager: CalledManager, wanted: str = "/") -> str:
    """The URL at the provider."""
    away = await manager.get("/login/oidc", params={"next": wanted})
    assert away.status_code == 303, away.text
    return away.headers["location"]


async def back(manager: CalledManager, answer: dict[str, str]) -> httpx.Response:
    return await manager.get("/login/oidc/callback", params=answer)


async def logged_in(manager: CalledManager, provider: CodeProvider, wanted: str = "/") -> httpx.Response:
    return await back(manager, provider.approve(await begun(manager, wanted)))


def entries(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "audit.jsonl").read_text().splitlines()]
