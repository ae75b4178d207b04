import type { Delivery, JsonObject, Operation, Role, Task, Webhook } from './api-types.js';

/** The server's responses under `/console/api`. Times are RFC 3339 texts. */

export type Scope = 'credits:read' | 'generations:read' | 'generations:write' | 'uploads:write' | 'webhooks:manage';
export type SignInMethod = 'password' | 'link' | 'passkey' | 'provider';

export interface Overview {
  readonly person: {
    readonly id: string;
    readonly email: string;
    readonly has_password: boolean;
    readonly has_passkey: boolean;
    readonly is_operator: boolean;
  };
  readonly session: { readonly method: SignInMethod; readonly is_recent: boolean };
  readonly account: {
    readonly id: string;
    readonly name: string;
    readonly currency: string;
    readonly is_suspended: boolean;
    readonly available_credits: number;
    readonly reserved_credits: number;
    readonly spent_credits: number;
  };
  /** The App in which the pages create. */
  readonly console_app_id: string;
  readonly scopes: readonly Scope[];
  /** Those that a key has unless its maker chooses. */
  readonly default_scopes: readonly Scope[];
  readonly base_url: string;
  /** Null where there is no MCP server. */
  readonly mcp_url: string | null;
  readonly has_oauth: boolean;
  /** Whether the service has the API of OpenAI. */
  readonly has_openai: boolean;
  /** Whether this person is an operator, and the service has an area for them. */
  readonly has_operator_area: boolean;
  /** The body of a request that makes a picture; null where no model takes one. */
  readonly first_request: object | null;
  /** Null where no outside provider is configured. */
  readonly provider_name: string | null;
}

/** The input of a generation of this page. */
export interface GenerationInput {
  readonly model_key: string;
  readonly operation: Operation;
  readonly prompt: string;
  readonly negative_prompt: string | null;
  readonly parameters: JsonObject;
  readonly references: readonly { readonly upload_id: string; readonly role: Role }[];
}

export interface App {
  readonly id: string;
  readonly name: string | null;
}

export interface Key {
  readonly id: string;
  readonly name: string;
  /** The beginning and the end of the secret; null for a key of a release that kept neither. */
  readonly hint: string | null;
  readonly app: App;
  readonly scopes: readonly Scope[];
  readonly monthly_cap: number | null;
  readonly used_this_month: number | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly last_used_on: string | null;
  readonly is_over: boolean;
}

export interface NewKey {
  readonly name: string;
  readonly scopes?: readonly Scope[];
  readonly expires_at?: string;
  readonly monthly_cap?: number;
  readonly app_id?: string;
}

export interface Connection {
  readonly id: string;
  /** The e-mail address of the person who connected it. */
  readonly connected_by: string;
  /** Whether that is the person who is signed in. */
  readonly is_own: boolean;
  readonly client_name: string;
  readonly client_host: string | null;
  readonly audience: 'rest' | 'mcp';
  readonly scopes: readonly Scope[];
  /** A sentence without a full stop for each scope, as on the page of consent. */
  readonly may: readonly string[];
  readonly cap: number | null;
  readonly used: number | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_used_on: string | null;
}

export interface Session {
  readonly id: string;
  readonly method: SignInMethod;
  readonly user_agent: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly is_current: boolean;
}

export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  readonly linked_at: string;
}

export interface Passkey {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly last_used_on: string | null;
}

/** The values that a browser needs to create a passkey. Bytes are base64url. */
export interface PasskeyRequest {
  readonly challenge: string;
  readonly rp_id: string;
  readonly user_handle: string;
  readonly user_name: string;
  /** COSE algorithms, in order of preference. */
  readonly algorithms: readonly number[];
  /** Passkeys that the person already has. */
  readonly known: readonly { readonly id: string; readonly transports: readonly string[] }[];
  readonly timeout_ms: number;
}

/** What created a generation. */
export interface Creator {
  readonly kind: 'key' | 'program' | 'person' | 'service' | 'unknown';
  readonly id?: string;
  readonly name?: string;
}

/** The signed addresses of the small pictures of one output: 320, 640 and 1,280 pixels on the longer side. */
export interface Thumbnails {
  readonly media_id: string;
  readonly small: string;
  readonly medium: string;
  readonly large: string;
}

/** A generation of any App of the account, as its people see it. */
export interface AccountGeneration extends Task {
  readonly app: App;
  readonly creator: Creator;
  /** Null where the operator does not show requests, or the request is no longer stored. */
  readonly prompt: string | null;
  readonly negative_prompt?: string;
  /** Without the outputs that have none. */
  readonly thumbnails: readonly Thumbnails[];
  readonly outputs_removed_at: string | null;
  readonly content_removed_at: string | null;
}

export interface ShownRequest {
  readonly prompt: string;
  readonly negative_prompt?: string;
  readonly parameters: JsonObject;
  /** The names of parameters that have the default of the model. */
  readonly defaults: readonly string[];
  readonly references: readonly {
    readonly upload_id: string;
    readonly role: Role;
    readonly media_type: string;
    readonly byte_size: number;
    readonly url?: string;
  }[];
}

export interface TimelineEntry {
  readonly event:
    | 'created'
    | 'started'
    | 'attempt'
    | 'retry'
    | 'cancel_requested'
    | 'completed'
    | 'settled'
    | 'outputs_removed'
    | 'content_removed';
  readonly at: string;
  readonly attempt?: { readonly number: number };
}

/** One generation with all that is stored of it. */
export interface GenerationDetail extends AccountGeneration {
  readonly request: ShownRequest | null;
  readonly timeline: readonly TimelineEntry[];
  readonly ledger: readonly {
    readonly kind: 'reserved' | 'charged' | 'released';
    readonly credits: number;
    readonly at: string;
  }[];
  readonly deliveries: readonly (Delivery & Pick<AccountDelivery, 'webhook_id'>)[];
  /** The outputs that are stored, once it has ended. */
  readonly files: readonly { readonly media_id: string; readonly byte_size: number }[];
  /** When they will be removed. */
  readonly outputs_expire_at?: string;
}

/** Of the newest 50 deliveries. Times are null where none was. */
interface LastDeliveries {
  readonly last_success_at: string | null;
  readonly last_failure_at: string | null;
  readonly waiting: number;
}

export interface AccountWebhook extends Webhook {
  readonly app: App;
  readonly health: LastDeliveries & {
    readonly state: 'healthy' | 'failing' | 'paused' | 'unused';
    /** One sentence. */
    readonly reason: string;
  };
}

/** The URLs that single generations of an App name. */
export interface PerRequestWebhooks extends LastDeliveries {
  readonly app: App;
  readonly secret_hint: string;
  readonly previous_secret_expires_at: string | null;
}

export interface AllWebhooks {
  readonly webhooks: readonly AccountWebhook[];
  readonly per_request: readonly PerRequestWebhooks[];
}

/** Counts of the deliveries of one webhook in the last 48 hours, by how they ended. The newest 1,000 are counted where there are more. */
export interface WebhookActivity {
  readonly is_complete: boolean;
  readonly hours: readonly { readonly starts_at: string; readonly delivered: number; readonly failed: number }[];
  readonly delivered: number;
  readonly failed: number;
  readonly waiting: number;
  readonly next_attempt_at: string | null;
  readonly answered_ms: { readonly median: number; readonly p95: number } | null;
}

export interface AccountDelivery extends Delivery {
  /** `default` for the URL of a single generation. */
  readonly webhook_id: string;
  readonly app: App;
}

export interface DeliveryDetail {
  readonly delivery: AccountDelivery;
  /** What would be sent now; null once the generation was deleted. */
  readonly request: { readonly url: string | null; readonly message_id: string; readonly body: JsonObject } | null;
}
