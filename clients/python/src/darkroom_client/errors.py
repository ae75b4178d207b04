"""What the library raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types import GenerationTask


class DarkroomError(Exception):
    """Every error that this library raises itself."""


class ApiError(DarkroomError):
    """The service refused a request. `code` is stable, `reason` is for people."""

    def __init__(
        self,
        status: int,
        code: str,
        reason: str,
        request_id: str,
        idempotency_key: str | None = None,
        credits_available: int | None = None,
    ) -> None:
        super().__init__(f"{reason} ({code}, request {request_id})")
        self.status = status
        self.code = code
        self.reason = reason
        self.request_id = request_id
        """The service's id of the request, for questions to its operator."""
        self.idempotency_key = idempotency_key
        """The key that the request had: sent again with it, it has no second effect."""
        self.credits_available = credits_available
        """What the account has available, on `CREDITS_INSUFFICIENT` and if the key may read the balance."""


class ConnectionFailed(DarkroomError):
    """No answer of a Darkroom service came. With `idempotency_key`, the request may have been accepted under it."""

    def __init__(self, reason: str, idempotency_key: str | None = None) -> None:
        super().__init__(reason)
        self.idempotency_key = idempotency_key


class EventsUnsupported(DarkroomError):
    """The service, or a proxy before it, does not stream events."""


class GenerationFailed(DarkroomError):
    """The generation ended, and not with a success."""

    def __init__(self, task: GenerationTask) -> None:
        error = task.get("error")
        why = f"{task['status']}: {error['message']} ({error['code']})" if error else f"was {task['status']}."
        super().__init__(f"Generation {task['generation_id']} {why}")
        self.task = task


class TooExpensive(DarkroomError):
    """The estimate is above `max_credits`; nothing was created."""

    def __init__(self, estimated_credits: int, max_credits: int) -> None:
        unit = "credit" if estimated_credits == 1 else "credits"
        super().__init__(f"The estimate is {estimated_credits} {unit}, which is more than {max_credits}.")
        self.estimated_credits = estimated_credits
        self.max_credits = max_credits


class WaitTimeout(DarkroomError):
    """The waiting time is over; the generation goes on."""

    def __init__(self, task: GenerationTask) -> None:
        super().__init__(f"Generation {task['generation_id']} was still {task['status']} when the waiting time was over.")
        self.task = task


class TransferFailed(DarkroomError):
    """The bytes of an upload or an output did not arrive, or are not what was promised."""


class WebhookVerificationError(DarkroomError):
    """A webhook is not signed with the secret, or was signed at another time."""
