"""What the Prefect server does by itself: mark a run whose process is gone as crashed, and notify a webhook.

Import it only where Prefect's settings name the server (see server.environment).
"""

from __future__ import annotations

import contextlib
from datetime import timedelta
from uuid import UUID

from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import CallWebhook, ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.types import SecretDict
from pydantic import SecretStr

ZOMBIES = "nightjar: crash runs without a heartbeat"
TELL = "nightjar: tell the webhook"
BLOCK = "nightjar"
# A run sends a heartbeat every three minutes (PREFECT_FLOWS_HEARTBEAT_FREQUENCY); three in a row are missing.
SILENCE = timedelta(seconds=540)
# The states of a run at its end.
ENDS = [
    "Completed",
    "Failed",
    "Crashed",
    "Cancelled",
    "Cancelling",
    "TimedOut",
    "Stopped",
    "Skipped",
    "Paused",
]
RUNS = "prefect.flow-run.*"
PAYLOAD = """{
  "flow": {{ flow.name|tojson }},
  "run": {{ flow_run.name|tojson }},
  "state": {{ flow_run.state.name|tojson }},
  "message": {{ flow_run.state.message|tojson }},
  "url": {{ flow_run|ui_url|tojson }}
}"""


async def set_up(webhook: str | None) -> None:
    """Make or renew the automations; never a second of a kind.

    `webhook` is an address, which is kept as a block of the server, `none` to remove it, or None to leave it as it is.
    """
    async with get_client() as client:
        await _renew(client, ZOMBIES, _zombies())
        if webhook == "none":
            await _renew(client, TELL, None)
            with contextlib.suppress(ValueError):  # there is none
                await Webhook.adelete(BLOCK)
        elif webhook is not None:
            headers = SecretDict({"Content-Type": "application/json"})
            block = Webhook(method="POST", url=SecretStr(webhook), headers=headers)
            await _renew(client, TELL, _tell(await block.asave(BLOCK, overwrite=True)))


async def _renew(client: PrefectClient, name: str, wanted: AutomationCore | None) -> None:
    for known in await client.read_automations_by_name(name):
        await client.delete_automation(known.id)
    if wanted is not None:
        await client.create_automation(wanted)


def _zombies() -> AutomationCore:
    beat = "prefect.flow-run.heartbeat"
    return AutomationCore(
        name=ZOMBIES,
        description="A run without a heartbeat for nine minutes is marked as crashed: its process is gone.",
        trigger=EventTrigger(
            match=ResourceSpecification({"prefect.resource.id": RUNS}),
            for_each={"prefect.resource.id"},
            after={beat},
            expect={beat, *(f"prefect.flow-run.{name}" for name in ENDS)},
            posture=Posture.Proactive,
            threshold=1,
            within=SILENCE,
        ),
        actions=[
            ChangeFlowRunState(
                name="Crashed", state=StateType.CRASHED, message="no heartbeat for nine minutes", force=False
            )
        ],
    )


def _tell(block: UUID) -> AutomationCore:
    return AutomationCore(
        name=TELL,
        description="Every run that failed or crashed is posted to the webhook.",
        trigger=EventTrigger(
            match=ResourceSpecification({"prefect.resource.id": RUNS}),
            for_each={"prefect.resource.id"},
            expect={f"prefect.flow-run.{name}" for name in ("Failed", "Crashed", "TimedOut")},
            posture=Posture.Reactive,
            threshold=1,
            # Without a span the server, which looks at some events twice, would post twice.
            within=timedelta(seconds=60),
        ),
        actions=[CallWebhook(block_document_id=block, payload=PAYLOAD)],
    )
