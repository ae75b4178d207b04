import type { Scope } from '../../../core/access/credential.js';
import type { ErrorCode } from '../../../core/errors.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { Settings } from '../../../core/settings.js';
import type { ReferenceFile } from '../../fixtures/reference-files.js';
import type { FrontName } from './fronts.js';
import type { Difference } from './left-out.js';

export type OperationName =
  | 'listModels'
  | 'getModel'
  | 'getCredits'
  | 'listCreditEntries'
  | 'getUsage'
  | 'createGeneration'
  | 'estimateGeneration'
  | 'getGeneration'
  | 'watchGeneration'
  | 'watchEvents'
  | 'listGenerations'
  | 'cancelGeneration'
  | 'deleteGeneration'
  | 'getThumbnails'
  | 'prepareUpload'
  | 'getUpload'
  | 'deleteUpload'
  | 'completeUpload'
  | WebhookOperation;

export type WebhookOperation =
  | 'createWebhook'
  | 'listWebhooks'
  | 'getWebhook'
  | 'updateWebhook'
  | 'deleteWebhook'
  | 'rotateWebhookSecret'
  | 'testWebhook'
  | 'listWebhookDeliveries'
  | 'replayWebhookDelivery'
  | 'replayWebhookDeliveries';

/**
 * The credential that a request carries. `owner` has all scopes and 1,000 credits; `poor` has all scopes and 25,
 * `poor-writer` the same account and generations:write alone. `suspended` belongs to a suspended account.
 */
export type CredentialKind =
  | 'owner'
  | 'poor'
  | 'poor-writer'
  | 'stranger'
  | 'other-app'
  | 'suspended'
  | 'none'
  | 'garbage'
  | 'anonymous'
  | 'oauth'
  | 'unknown'
  | 'mistyped'
  | 'expired'
  | 'revoked'
  | `only ${Scope}`;

/**
 * One request and its expected outcome, in terms that every front has. In ids and bodies a text that begins with `@` is
 * replaced: `@name` by an id of the fixture or one that was saved, `@size:file` and `@sha256:file` by facts of a file.
 */
export interface CallStep {
  readonly operation: OperationName;
  readonly as?: CredentialKind;
  /** The App that the request names, if it names one. */
  readonly app?: 'own' | 'foreign';
  /** The Idempotency-Key. A new one when absent, none when null. */
  readonly key?: string | null;
  readonly id?: string;
  /** The delivery, where `id` is its webhook. */
  readonly deliveryId?: string;
  /** For a stream, the id of the last event received. */
  readonly lastEventId?: string;
  /** The webhook URL notified of the end of the created generation. */
  readonly webhookUrl?: string;
  /** The query of a list; a cursor `@name` is the one that was saved under this name. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Json;
  readonly code: ErrorCode | 'OK';
  /** Fields of the answer's data, or of those in it; fields that are not listed are not checked. */
  readonly data?: JsonObject;
  /** Fields that the answer's data must not have. */
  readonly without?: readonly string[];
  /** A part of the message: which field was at fault. */
  readonly says?: string;
  readonly replayed?: boolean;
  /** A different answer of one front, if the same request means something else there. */
  readonly otherwise?: {
    readonly over: FrontName;
    readonly code: ErrorCode;
    readonly says: string;
    readonly because: Difference;
  };
  /** Remembers the answer's generation or upload under this name. */
  readonly save?: string;
}

/** Events between requests. */
export type EventStep =
  /**
   * `either`: an S3 store accepts any signed request; if the service serves the signed URLs itself, it refuses one that
   * is no longer needed.
   */
  | {
      readonly event: 'put';
      readonly upload: string;
      readonly file: ReferenceFile;
      readonly accepted: boolean | 'either';
    }
  | { readonly event: 'advance'; readonly byMs: number }
  /** The service that plays this vector has a worker, from its start. */
  | { readonly event: 'start-worker' }
  /** Asks for the status until it is this one. */
  | { readonly event: 'await'; readonly generation: string; readonly status: string };

export interface Vector {
  readonly name: string;
  readonly steps: readonly (CallStep | EventStep)[];
  readonly settings?: Partial<Settings>;
}

type Request = Omit<CallStep, 'operation' | 'code'>;

export function ok(operation: OperationName, request: Request = {}): CallStep {
  return { operation, code: 'OK', ...request };
}

export function refused(operation: OperationName, code: ErrorCode, request: Request = {}): CallStep {
  return { operation, code, ...request };
}

export function vector(name: string, steps: Vector['steps']): Vector {
  return { name, steps };
}

/** A vector of one request. */
export function once(name: string, operation: OperationName, code: CallStep['code'], request: Request = {}): Vector {
  return { name, steps: [{ operation, code, ...request }] };
}

export const PICTURE = {
  model_key: 'picture',
  operation: 'image_generation',
  prompt: 'a lighthouse',
  parameters: { size: '96x64' },
} as const;
export const HELD_PICTURE = { ...PICTURE, model_key: 'picture-held' } as const;
export const CLIP = {
  model_key: 'clip',
  operation: 'video_generation',
  prompt: 'waves',
  parameters: { duration_seconds: 2 },
} as const;
export const PNG_UPLOAD = {
  filename: 'a.png',
  media_type: 'image/png',
  byte_size: '@size:png',
  role: 'reference_image',
} as const;
