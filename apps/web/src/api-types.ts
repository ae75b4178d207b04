/** What the operations of the API answer to the page, as its reference describes them. Times are RFC 3339 texts. */

export const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type Status = (typeof STATUSES)[number];
export type Operation = 'image_generation' | 'video_generation';
export type Role = 'reference_image' | 'start_frame' | 'end_frame';

export interface Output {
  readonly media_id: string;
  readonly media_type: 'image' | 'video';
  readonly url: string;
  readonly width?: number;
  readonly height?: number;
  readonly duration_ms?: number;
}

export interface Task {
  readonly generation_id: string;
  readonly status: Status;
  readonly model_key: string;
  readonly modality: 'image' | 'video';
  readonly operation: Operation;
  readonly created_at: string;
  readonly updated_at: string;
  readonly completed_at?: string;
  readonly poll_after_ms?: number;
  readonly estimated_credits: number;
  readonly reserved_credits: number;
  readonly charged_credits: number;
  readonly outputs: readonly Output[];
  readonly error?: { readonly code: string; readonly message: string; readonly retryable: boolean };
  readonly client_trace_id?: string;
}

export interface TaskList {
  readonly generations: readonly Task[];
  readonly next_cursor?: string;
}

export const EVENT_TYPES = ['queued', 'running', 'progress', 'cancel_requested', 'ended'] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface TaskEvent {
  readonly type: EventType;
  readonly at: string;
  readonly progress?: number;
  /** While it is queued: how many of the App's are queued before it. */
  readonly position?: number;
  readonly task: Task;
}

/** A value of a request or a schema. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

export interface Model {
  readonly model_key: string;
  readonly display_name: string;
  readonly modality: 'image' | 'video';
  readonly operations: readonly Operation[];
  /** JSON Schema 2020-12 of the parameters. */
  readonly input_schema: JsonObject;
  readonly description?: string;
  readonly limits: {
    readonly max_reference_uploads: number;
    readonly reference_roles: readonly Role[];
    readonly upload_media_types: readonly string[];
    readonly max_upload_bytes: number;
    readonly max_outputs: number;
    readonly negative_prompt: boolean;
  };
  readonly price_unit?: string;
  readonly price?: number;
}

export interface GenerationRequest {
  readonly model_key: string;
  readonly operation: Operation;
  readonly prompt: string;
  readonly negative_prompt?: string;
  readonly parameters?: JsonObject;
  readonly reference_upload_ids?: readonly string[];
}

export interface Estimate {
  readonly estimated_credits: number;
  readonly currency: string;
}

export interface PreparedUpload {
  readonly upload_id: string;
  readonly upload_url: string;
  readonly required_headers: Readonly<Record<string, string>>;
}

export interface Entry {
  readonly sequence: number;
  readonly kind: 'grant' | 'adjustment' | 'hold' | 'charge' | 'release';
  readonly credits: number;
  readonly available_change: number;
  readonly available_after: number;
  readonly created_at: string;
  readonly generation_id?: string;
  readonly model_key?: string;
  readonly client_trace_id?: string;
  readonly credential_id?: string;
  readonly credential_name?: string;
  readonly reason?: string;
}

export interface Statement {
  readonly entries: readonly Entry[];
  readonly opening_credits: number;
  readonly closing_credits: number;
  readonly next_cursor?: string;
}

export interface UsageSums {
  readonly generations: number;
  readonly failed: number;
  readonly reserved_credits: number;
  readonly charged_credits: number;
  readonly released_credits: number;
}

export interface UsageRow extends UsageSums {
  readonly day?: string;
  readonly model_key?: string;
  readonly credential_id?: string;
  readonly credential_name?: string;
}

export interface Usage {
  readonly by: UsageBy;
  readonly from: string;
  readonly to: string;
  readonly usage: readonly UsageRow[];
  readonly total: UsageSums;
  readonly next_cursor?: string;
}

export const USAGE_BY = ['day', 'model', 'key'] as const;
export type UsageBy = (typeof USAGE_BY)[number];

export const WEBHOOK_EVENTS = [
  'generation.running',
  'generation.succeeded',
  'generation.failed',
  'generation.cancelled',
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export interface Webhook {
  readonly webhook_id: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly description?: string;
  readonly status: 'enabled' | 'disabled';
  readonly disabled_because?: 'client' | 'gone' | 'failing';
  readonly disabled_at?: string;
  readonly failing_since?: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly previous_secret_expires_at?: string;
}

export interface WebhookSecret {
  readonly secret: string;
  readonly previous_secret_expires_at?: string;
}

export const DELIVERY_STATES = ['pending', 'retrying', 'delivered', 'exhausted', 'disabled', 'cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export type AttemptFault = 'address' | 'connection' | 'timeout' | 'answer';

export interface DeliveryAttempt {
  readonly event: WebhookEvent;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly result: 'delivered' | 'failed' | 'unknown';
  readonly status?: number;
  readonly fault?: AttemptFault;
}

export interface Delivery {
  readonly delivery_id: string;
  readonly generation_id: string;
  readonly event: WebhookEvent;
  readonly state: DeliveryState;
  readonly url?: string;
  readonly occurred_at: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly attempts_made: number;
  readonly next_attempt_at?: string;
  readonly attempts: readonly DeliveryAttempt[];
}

export interface DeliveryList {
  readonly deliveries: readonly Delivery[];
  readonly next_cursor?: string;
}
