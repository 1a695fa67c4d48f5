"""What the Prefect server does by itself: call a dead run crashed, and tell a webhook of runs that went wrong.

Import it only where Prefect is told which server to use (see server.use).
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import CallWebhook, ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.exceptions import ObjectNotFound
from prefect.types import SecretDict
from pydantic import SecretStr

ZOMBIES = "nightjar: crash runs without a heartbeat"
TELL = "nightjar: tell the webhook"
BLOCK = "nightjar"
# A run sends a heartbeat every three minutes (PREFECT_FLOWS_HEARTBEAT_FREQUENCY); three in a row are missing.
SILENCE = timedelta(seconds=540)
# What a run says at its end: the names of its states, ours among them.
ENDS = (
    "Completed",
    "Failed",
    "Crashed",
    "Cancelled",
    "Cancelling",
    "TimedOut",
    "Stopped",
    "Skipped",
    "Paused",
)
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
        await _renew(client, _zombies())
        if webhook == "none":
            await _remove(client)
        elif webhook is not None:
            headers = SecretDict({"Content-Type": "application/json"})
            block = Webhook(method="POST", url=SecretStr(webhook), headers=headers)
            await _renew(client, _tell(await block.asave(BLOCK, overwrite=True)))


def _zombies() -> AutomationCore:
    beat = "prefect.flow-run.heartbeat"
    return AutomationCore(
        name=ZOMBIES,
        description="A run of which nothing was heard for nine minutes is called crashed: its process is gone.",
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
            # Without a span the server, which looks at some events twice, would tell twice.
            within=timedelta(seconds=60),
        ),
        actions=[CallWebhook(block_document_id=block, payload=PAYLOAD)],
    )


async def _renew(client: PrefectClient, wanted: AutomationCore) -> None:
    known = await client.read_automations_by_name(wanted.name)
    if known:
        await client.update_automation(known[0].id, wanted)
    else:
        await client.create_automation(wanted)
    for double in known[1:]:
        await client.delete_automation(double.id)


async def _remove(client: PrefectClient) -> None:
    for known in await client.read_automations_by_name(TELL):
        await client.delete_automation(known.id)
    try:
        block = await client.read_block_document_by_name(BLOCK, "webhook")
    except ObjectNotFound:
        return
    await client.delete_block_document(block.id)
