import type { TaskErrorCode } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { RefusedBecause } from '../../../core/ports/provider.js';
import type { FieldRules } from '../shared/request-fields.js';
import type { STATES } from './settings-schema.js';

export type State = (typeof STATES)[number];

/** Exactly one of both: a path below the base address, or the JSON Pointer to an address in an answer. */
export interface Route {
  readonly path?: string;
  readonly address?: string;
}

/** The meaning of an error of the API here. */
export interface Meaning {
  readonly code: TaskErrorCode;
  readonly because?: RefusedBecause;
  readonly may_retry: boolean;
}

export interface ErrorSettings {
  /** JSON Pointers; the first that leads to a text or a number is taken. */
  readonly code: readonly string[];
  /** The meaning of each code; a name that ends in `*` is for every code that begins so. */
  readonly codes: Readonly<Record<string, Meaning>>;
  /** Codes in responses without an error. */
  readonly success_codes: readonly (string | number | boolean)[];
  readonly cancelled_codes: readonly (string | number | boolean)[];
  readonly message: readonly string[];
  readonly messages: readonly (Meaning & { readonly contains: string })[];
  readonly statuses: Readonly<Record<string, Meaning>>;
}

/** An answer by its status, and by the code of its error where one is given. */
export interface AnswerRule {
  readonly status: number;
  readonly code?: string;
}

/** A model's `provider_settings`: how the requests of an API are made, and how its responses are read. */
export interface HttpJsonSettings {
  readonly headers: Readonly<Record<string, string>>;
  readonly submit: {
    readonly method: 'POST' | 'PUT';
    readonly path: string;
    readonly body: JsonObject;
    readonly id: string;
    readonly id_pattern: string;
    readonly idempotency_header?: string;
    readonly takes_token_once: boolean;
    readonly seen_before: readonly AnswerRule[];
    readonly refused: readonly AnswerRule[];
    readonly error_in_success: boolean;
  };
  /** The value of `{parameters.…}` in the body. */
  readonly parameters: FieldRules;
  readonly files_as: 'data-url' | 'base64';
  readonly poll: Route & {
    readonly id?: string;
    readonly state: string;
    /** With null for an answer that has no state. */
    readonly states: Readonly<Partial<Record<State, readonly (string | number | boolean | null)[]>>>;
    /** JSON Pointers; where one leads to something, a task that has succeeded by its state has failed. */
    readonly failed_if: readonly string[];
    readonly progress?: string;
    readonly progress_maximum: number;
    readonly unknown_status: readonly number[];
  };
  /** The request that returns the outputs, if the status response has none. Its address, or the id in its path, is in that response. */
  readonly result?: Route & {
    readonly id?: string;
    readonly id_pattern: string;
  };
  readonly output: {
    readonly media_type: string;
    readonly at: string;
    readonly as: 'address' | 'base64';
    readonly sends_key: boolean;
    /** JSON Pointers; where one leads to something, a task without outputs was withheld by the API's content policy. */
    readonly withheld: readonly string[];
  };
  readonly cancel?: Route & {
    readonly method: 'POST' | 'PUT' | 'DELETE';
    readonly stops: 'queued' | 'running';
    /** The states in which it is sent, after a poll; whatever the state, and without a poll, when absent. */
    readonly only_in?: readonly State[];
    readonly ended_status: readonly number[];
  };
  readonly recover?: {
    readonly path: string;
    readonly found?: string;
    readonly id: string;
    readonly token?: string;
    readonly missing_status: readonly number[];
  };
  readonly errors: ErrorSettings;
  readonly cost: {
    readonly seconds?: string;
    readonly input_tokens?: string;
    readonly output_tokens?: string;
    readonly money?: string;
    readonly currency?: string;
  };
  readonly settle_seconds: number;
  readonly keeps_results_seconds?: number;
  readonly is_paid: boolean;
  readonly check_path?: string;
  /** Statuses of a right answer to it, beside those of success. */
  readonly check_status: readonly number[];
}
