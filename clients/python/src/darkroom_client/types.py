"""The objects of the API, generated from its OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import sys

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired


class Error(TypedDict):
    success: Literal[False]
    code: str
    message: str
    """
    What is wrong, and what would be accepted.
    """
    request_id: str


class ModelLimits(TypedDict):
    max_reference_uploads: int
    reference_roles: list[Literal['reference_image', 'start_frame', 'end_frame']]
    upload_media_types: list[str]
    max_upload_bytes: int
    max_outputs: int
    negative_prompt: bool
    """
    Whether negative_prompt is supported.
    """


class Model(TypedDict):
    model_key: str
    display_name: str
    modality: Literal['image', 'video']
    operations: list[Literal['image_generation', 'video_generation']]
    input_schema: dict[str, Any]
    """
    JSON Schema 2020-12 of the parameters.
    """
    description: NotRequired[str]
    limits: ModelLimits
    price_unit: NotRequired[Literal['image', 'megapixel', 'second', 'video', 'task']]
    price: NotRequired[float]
    """
    Credits for one price_unit. A missing price must not be guessed.
    """


class Catalog(TypedDict):
    models: list[Model]


class Balance(TypedDict):
    mode: Literal['formal']
    balance_credits: int
    available_credits: int
    """
    Currently equal to balance_credits.
    """
    remaining_credits: int
    """
    Currently equal to balance_credits.
    """
    currency: str
    """
    The account's unit of credits. No cash value follows from it.
    """


class LedgerEntry(TypedDict):
    sequence: int
    """
    Number of the entry in its account, without gaps.
    """
    kind: Literal['grant', 'adjustment', 'hold', 'charge', 'release']
    credits: int
    """
    How many credits moved.
    """
    available_change: int
    """
    What it changed the available credits by: 0 for a charge, which takes what was held.
    """
    available_after: NotRequired[int]
    """
    Absent for a connected program, which does not see the entries of others.
    """
    created_at: str
    """
    UTC, with milliseconds and Z.
    """
    generation_id: NotRequired[str]
    model_key: NotRequired[str]
    client_trace_id: NotRequired[str]
    """
    Absent for a connected program where a person or a service acted in its App.
    """
    credential_id: NotRequired[str]
    """
    What the generation was created with. Absent for a connected program where a person or a service acted in its App.
    """
    credential_name: NotRequired[str]
    """
    Absent once there is no such credential any more. A connected program sees no name but its own.
    """
    reason: NotRequired[str]
    """
    The operator's reason for a grant or an adjustment; `failed` where a generation failed.
    """


class Statement(TypedDict):
    entries: list[LedgerEntry]
    """
    Newest first.
    """
    opening_credits: NotRequired[int]
    """
    Available before the oldest entry of the page. Absent for a connected program, which does not see the entries of others.
    """
    closing_credits: NotRequired[int]
    """
    Available after the newest entry of the page. Absent for a connected program, which does not see the entries of others.
    """
    next_cursor: NotRequired[str]
    """
    The cursor of the next page; absent on the last one.
    """


class UsageRow(TypedDict):
    day: NotRequired[str]
    """
    By day.
    """
    model_key: NotRequired[str]
    """
    By model; absent for entries that do not say.
    """
    credential_id: NotRequired[str]
    """
    By key; absent for entries that do not say.
    """
    credential_name: NotRequired[str]
    """
    By key; absent once there is no such credential any more.
    """
    client_trace_id: NotRequired[str]
    """
    By trace id; absent for entries without one.
    """
    modality: NotRequired[Literal['image', 'video', 'unknown']]
    """
    By modality, or by day and modality. unknown: of a model that is not known any more.
    """
    generations: int
    """
    Generations that were accepted.
    """
    failed: int
    """
    Generations that ended as failed.
    """
    reserved_credits: int
    """
    Held when generations were accepted.
    """
    charged_credits: int
    """
    Taken for what was delivered.
    """
    released_credits: int
    """
    Given back from what was held.
    """


class UsageSums(TypedDict):
    """
    Of all days from `from` to `to`.
    """

    generations: int
    """
    Generations that were accepted.
    """
    failed: int
    """
    Generations that ended as failed.
    """
    reserved_credits: int
    """
    Held when generations were accepted.
    """
    charged_credits: int
    """
    Taken for what was delivered.
    """
    released_credits: int
    """
    Given back from what was held.
    """


Usage = TypedDict(
    'Usage',
    {
        'by': Literal[
            'day', 'model', 'key', 'client_trace_id', 'modality', 'day_modality'
        ],
        'from': str,
        'to': str,
        'usage': list[UsageRow],
        'total': UsageSums,
        'next_cursor': NotRequired[str],
    },
)


class Output(TypedDict):
    media_id: str
    media_type: Literal['image', 'video']
    url: str
    """
    Signed URL, signed anew in each response; it expires.
    """
    width: NotRequired[int]
    """
    In pixels.
    """
    height: NotRequired[int]
    """
    In pixels.
    """
    duration_ms: NotRequired[int]
    """
    Duration of a video, in milliseconds.
    """


class Error1(TypedDict):
    """
    Reason of the failure; present if the task failed.
    """

    code: Literal[
        'CONTENT_REJECTED_INPUT',
        'CONTENT_REJECTED_OUTPUT',
        'INPUT_INVALID',
        'PROVIDER_REJECTED',
        'MODEL_UNAVAILABLE',
        'PROVIDER_UNAVAILABLE',
        'PROVIDER_TIMEOUT',
        'TASK_TIMEOUT',
        'OUTPUT_INVALID',
        'OUTPUT_STORE_FAILED',
        'INTERNAL_ERROR',
    ]
    message: str
    retryable: bool


class GenerationTask(TypedDict):
    generation_id: str
    status: Literal['queued', 'running', 'succeeded', 'failed', 'cancelled']
    model_key: str
    modality: Literal['image', 'video']
    operation: Literal['image_generation', 'video_generation']
    created_at: str
    """
    UTC, with milliseconds and Z.
    """
    updated_at: str
    """
    UTC, with milliseconds and Z.
    """
    completed_at: NotRequired[str]
    """
    Present once the task has ended.
    """
    poll_after_ms: NotRequired[int]
    """
    Suggested time until the next poll, in milliseconds; present until the task has ended.
    """
    estimated_credits: int
    reserved_credits: int
    charged_credits: int
    outputs: list[Output]
    error: NotRequired[Error1]
    """
    Reason of the failure; present if the task failed.
    """
    client_trace_id: NotRequired[str]


class GenerationRequest(TypedDict):
    model_key: str
    """
    Exact key of a model in the catalog.
    """
    operation: Literal['image_generation', 'video_generation']
    """
    Operation; the model must support it.
    """
    prompt: str
    """
    Prompt, not only white space. Lengths count code points. Models that say so need none.
    """
    negative_prompt: NotRequired[str | None]
    """
    Negative prompt, for models that support it.
    """
    parameters: NotRequired[dict[str, Any] | None]
    """
    Parameters, as the model's input_schema describes them.
    """
    reference_upload_ids: NotRequired[list[str] | None]
    """
    Ids of completed uploads, without repetition. Transparent areas of a reference image are generated anew; a model without masks refuses it.
    """
    client_trace_id: NotRequired[str | None]
    """
    Trace id of your choice, returned with the task.
    """


class Estimate(TypedDict):
    model_key: str
    operation: Literal['image_generation', 'video_generation']
    estimated_credits: int
    currency: str


class GenerationList(TypedDict):
    generations: list[GenerationTask]
    next_cursor: NotRequired[str]
    """
    The cursor of the next page; absent on the last one.
    """


class DeletedGeneration(TypedDict):
    generation_id: str


class Thumbnail(TypedDict):
    url: str
    """
    Signed URL, the same for a UTC day.
    """
    width: int
    """
    In pixels.
    """
    height: int
    """
    In pixels.
    """
    expires_at: str
    """
    When the URL stops working, unless the output is deleted before.
    """


class OutputThumbnails(TypedDict):
    media_id: str
    thumbnails: list[Thumbnail]
    """
    The smallest first; the longer side has 320, 640, 1280 pixels, or as many as the output.
    """


class ThumbnailList(TypedDict):
    outputs: list[OutputThumbnails]


class GenerationEvent(TypedDict):
    """
    The data of an event.
    """

    type: Literal['queued', 'running', 'progress', 'cancel_requested', 'ended']
    at: str
    """
    UTC, with milliseconds and Z.
    """
    progress: NotRequired[float]
    """
    How much is done, where the provider says.
    """
    position: NotRequired[int]
    """
    While it is queued: how many of the App's generations of the same model are queued before it.
    """
    task: GenerationTask


class PreparedUpload(TypedDict):
    upload_id: str
    """
    Use it in reference_upload_ids.
    """
    upload_url: str
    """
    Signed URL; it expires.
    """
    method: Literal['PUT']
    required_headers: dict[str, str]
    """
    Headers that must be sent with the bytes, exactly as given.
    """
    expires_at: str
    """
    UTC, with milliseconds and Z.
    """
    media_type: Literal['image/png', 'image/jpeg', 'image/webp']
    byte_size: int
    role: Literal['reference_image', 'start_frame', 'end_frame']


class PrepareUploadRequest(TypedDict):
    filename: str
    """
    File name, without a path.
    """
    media_type: Literal['image/png', 'image/jpeg', 'image/webp']
    """
    MIME type of the file.
    """
    byte_size: int
    """
    Size of the file in bytes.
    """
    sha256: NotRequired[str | None]
    """
    SHA-256 of the file, in hex.
    """
    role: Literal['reference_image', 'start_frame', 'end_frame']
    """
    Role of the file.
    """


class Upload(TypedDict):
    upload_id: str
    status: Literal['prepared', 'ready', 'expired']
    """
    prepared: its bytes may be sent, and it may be completed. ready: it can be used in reference_upload_ids. expired: it was not completed in time.
    """
    filename: str
    """
    As declared.
    """
    media_type: Literal['image/png', 'image/jpeg', 'image/webp']
    """
    MIME type, as declared.
    """
    byte_size: int
    """
    In bytes, as declared.
    """
    role: Literal['reference_image', 'start_frame', 'end_frame']
    created_at: str
    """
    UTC, with milliseconds and Z.
    """
    expires_at: str
    """
    Until when bytes can be sent and the upload be completed.
    """
    media_id: NotRequired[str]
    """
    Present once ready.
    """
    sha256: NotRequired[str]
    """
    Of the bytes, as 64 lower-case hexadecimal digits; present once ready.
    """
    width: NotRequired[int]
    """
    In pixels; present once ready.
    """
    height: NotRequired[int]
    """
    In pixels; present once ready.
    """


class DeletedUpload(TypedDict):
    upload_id: str


class CompletedUpload(TypedDict):
    upload_id: str
    media_id: str
    """
    Id of the media; not accepted in reference_upload_ids.
    """
    status: Literal['ready']
    media_type: Literal['image']
    """
    Kind of media.
    """
    byte_size: int


class CompleteUploadRequest(TypedDict):
    sha256: NotRequired[str | None]
    """
    SHA-256 of the file, in hex.
    """


class CreatedWebhook(TypedDict):
    webhook_id: str
    url: str
    events: list[
        Literal[
            'generation.running',
            'generation.succeeded',
            'generation.failed',
            'generation.cancelled',
        ]
    ]
    description: NotRequired[str]
    status: Literal['enabled', 'disabled']
    disabled_because: NotRequired[Literal['client', 'gone', 'failing']]
    """
    client: a request disabled it. gone: it answered 410. failing: nothing that was sent to it succeeded for five days.
    """
    disabled_at: NotRequired[str]
    """
    UTC, with milliseconds and Z.
    """
    failing_since: NotRequired[str]
    """
    Present while nothing that is sent to it succeeds.
    """
    created_at: str
    """
    UTC, with milliseconds and Z.
    """
    updated_at: str
    """
    UTC, with milliseconds and Z.
    """
    secret_hint: NotRequired[str]
    """
    The beginning and the last four characters of the newest secret, by which people recognise it.
    """
    previous_secret_expires_at: NotRequired[str]
    """
    Until when messages are signed by the secret before this one too; present after a rotation.
    """
    secret: str
    """
    Signs the messages. It is shown this once: keep it where the receiver can read it.
    """


class CreateWebhookRequest(TypedDict):
    url: str
    """
    Where messages are sent: an https address of a public host, or of one that the operator allows.
    """
    events: NotRequired[
        list[
            Literal[
                'generation.running',
                'generation.succeeded',
                'generation.failed',
                'generation.cancelled',
            ]
        ]
        | None
    ]
    """
    What it is told of; every end of a generation when absent.
    """
    description: NotRequired[str | None]
    """
    For people; an empty one removes it.
    """


class Webhook(TypedDict):
    webhook_id: str
    url: str
    events: list[
        Literal[
            'generation.running',
            'generation.succeeded',
            'generation.failed',
            'generation.cancelled',
        ]
    ]
    description: NotRequired[str]
    status: Literal['enabled', 'disabled']
    disabled_because: NotRequired[Literal['client', 'gone', 'failing']]
    """
    client: a request disabled it. gone: it answered 410. failing: nothing that was sent to it succeeded for five days.
    """
    disabled_at: NotRequired[str]
    """
    UTC, with milliseconds and Z.
    """
    failing_since: NotRequired[str]
    """
    Present while nothing that is sent to it succeeds.
    """
    created_at: str
    """
    UTC, with milliseconds and Z.
    """
    updated_at: str
    """
    UTC, with milliseconds and Z.
    """
    secret_hint: NotRequired[str]
    """
    The beginning and the last four characters of the newest secret, by which people recognise it.
    """
    previous_secret_expires_at: NotRequired[str]
    """
    Until when messages are signed by the secret before this one too; present after a rotation.
    """


class WebhookList(TypedDict):
    webhooks: list[Webhook]


class UpdateWebhookRequest(TypedDict):
    url: NotRequired[str | None]
    """
    Where messages are sent: an https address of a public host, or of one that the operator allows.
    """
    events: NotRequired[
        list[
            Literal[
                'generation.running',
                'generation.succeeded',
                'generation.failed',
                'generation.cancelled',
            ]
        ]
        | None
    ]
    """
    What it is told of; every end of a generation when absent.
    """
    description: NotRequired[str | None]
    """
    For people; an empty one removes it.
    """
    enabled: NotRequired[bool | None]
    """
    false sends it nothing until it is true again.
    """


class DeletedWebhook(TypedDict):
    webhook_id: str


class WebhookSecret(TypedDict):
    secret: str
    """
    Signs the messages. It is shown this once: keep it where the receiver can read it.
    """
    previous_secret_expires_at: NotRequired[str]
    """
    Until when messages are signed by the secret before this one too; present after a rotation.
    """


class WebhookAttempt(TypedDict):
    event: Literal[
        'generation.running',
        'generation.succeeded',
        'generation.failed',
        'generation.cancelled',
        'generation.test',
    ]
    """
    generation.test: a test, whose generation does not exist.
    """
    started_at: str
    """
    UTC, with milliseconds and Z.
    """
    duration_ms: int
    result: Literal['delivered', 'failed', 'unknown']
    """
    unknown: the service ended before it could see the answer.
    """
    status: NotRequired[int]
    """
    HTTP status of the answer, if there was one.
    """
    fault: NotRequired[Literal['address', 'connection', 'timeout', 'answer']]
    """
    Why there was no answer. address: it must not be called. answer: what came is not HTTP, or too large.
    """
    body: NotRequired[str]
    """
    The first 1,024 bytes of the body of the answer as text, without control characters. Absent for an empty or binary body, for one from an address that is not public, and once ten later attempts were made.
    """
    body_bytes: NotRequired[int]
    """
    How long the body was, as far as it was read, which is 65,536 bytes at most. It may be binary.
    """


class WebhookDelivery(TypedDict):
    delivery_id: str
    generation_id: str
    event: Literal[
        'generation.running',
        'generation.succeeded',
        'generation.failed',
        'generation.cancelled',
        'generation.test',
    ]
    """
    The newest one that is told of this generation; generation.test: a test, without a generation.
    """
    state: Literal[
        'pending', 'retrying', 'delivered', 'exhausted', 'disabled', 'cancelled'
    ]
    """
    pending: not yet tried. retrying: tried, and to be tried again. exhausted: tried as often as it may be. disabled: the webhook was disabled. cancelled: the generation or the webhook was deleted.
    """
    url: NotRequired[str]
    """
    The Darkroom-Webhook-Url of the generation, where that was told.
    """
    occurred_at: str
    """
    When the event happened.
    """
    created_at: str
    """
    UTC, with milliseconds and Z.
    """
    updated_at: str
    """
    UTC, with milliseconds and Z.
    """
    attempts_made: int
    """
    For this event, since it happened or was replayed.
    """
    next_attempt_at: NotRequired[str]
    """
    Present while it is pending or retrying.
    """
    attempts: list[WebhookAttempt]
    """
    The last ones, of earlier events too, oldest first.
    """


class WebhookDeliveryList(TypedDict):
    deliveries: list[WebhookDelivery]
    next_cursor: NotRequired[str]
    """
    The cursor of the next page; absent on the last one.
    """


class ReplayedWebhookDeliveries(TypedDict):
    replayed: int
    """
    How many are sent again.
    """
    next_cursor: NotRequired[str]
    """
    The cursor of the next page; absent on the last one.
    """


class ReplayWebhookDeliveriesRequest(TypedDict):
    created_after: str
    """
    RFC 3339: deliveries created at this time or later.
    """
    created_before: NotRequired[str | None]
    """
    RFC 3339: those created before this time.
    """
    state: NotRequired[
        Literal[
            'pending', 'retrying', 'delivered', 'exhausted', 'disabled', 'cancelled'
        ]
    ]
    """
    Those in this state alone; all that were not delivered when absent.
    """
    cursor: NotRequired[str | None]
    """
    The `next_cursor` of the answer before.
    """


class ListCreditEntriesQuery(TypedDict):
    limit: NotRequired[int]
    """
    How many a page may hold.
    """
    cursor: NotRequired[str]
    """
    The `next_cursor` of the page before, with the same other parameters; the first page without it.
    """


GetUsageQuery = TypedDict(
    'GetUsageQuery',
    {
        'by': NotRequired[
            Literal[
                'day', 'model', 'key', 'client_trace_id', 'modality', 'day_modality'
            ]
        ],
        'from': NotRequired[str],
        'to': NotRequired[str],
        'limit': NotRequired[int],
        'cursor': NotRequired[str],
    },
)


class ListGenerationsQuery(TypedDict):
    limit: NotRequired[int]
    """
    How many a page may hold.
    """
    cursor: NotRequired[str]
    """
    The `next_cursor` of the page before, with the same other parameters; the first page without it.
    """
    status: NotRequired[
        Literal['queued', 'running', 'succeeded', 'failed', 'cancelled']
    ]
    """
    Those that have this status now.
    """
    model_key: NotRequired[str]
    """
    Those of this model.
    """
    client_trace_id: NotRequired[str]
    """
    Those that were created with this client_trace_id.
    """
    created_after: NotRequired[str]
    """
    Those created at this time or later.
    """
    created_before: NotRequired[str]
    """
    Those created before this time.
    """


class ListWebhookDeliveriesQuery(TypedDict):
    limit: NotRequired[int]
    """
    How many a page may hold.
    """
    cursor: NotRequired[str]
    """
    The `next_cursor` of the page before, with the same other parameters; the first page without it.
    """
    state: NotRequired[
        Literal[
            'pending', 'retrying', 'delivered', 'exhausted', 'disabled', 'cancelled'
        ]
    ]
    """
    Those that are in this state now.
    """
    event: NotRequired[
        Literal[
            'generation.running',
            'generation.succeeded',
            'generation.failed',
            'generation.cancelled',
            'generation.test',
        ]
    ]
    """
    Those that tell this event now.
    """
    generation_id: NotRequired[str]
    """
    Those of this generation.
    """
    created_after: NotRequired[str]
    """
    Those created at this time or later.
    """
    created_before: NotRequired[str]
    """
    Those created before this time.
    """

# Of schemas with the SHA-256 b3ab287f2aaf726bf5acf2fe31239fc1a1345aaffdecf630fda046d414986d1b.
