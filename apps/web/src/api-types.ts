import type {
  GenerationEvent,
  GenerationRequest as AnyRequest,
  GenerationTask,
  Webhook,
  WebhookDelivery,
} from '../../../clients/typescript/src/generated/api.js';

/** The objects of the API, which are generated from its OpenAPI document for the client library. */
export type {
  Estimate,
  GenerationEvent as TaskEvent,
  GenerationList as TaskList,
  GenerationTask as Task,
  LedgerEntry as Entry,
  Model,
  Output,
  PreparedUpload,
  Statement,
  Usage,
  UsageRow,
  UsageSums,
  Webhook,
  WebhookAttempt as DeliveryAttempt,
  WebhookDelivery as Delivery,
  WebhookDeliveryList as DeliveryList,
  WebhookSecret,
} from '../../../clients/typescript/src/generated/api.js';

/** Models that say so need no prompt. */
export type GenerationRequest = Omit<AnyRequest, 'prompt'> & Partial<Pick<AnyRequest, 'prompt'>>;

export type Status = GenerationTask['status'];
export type Operation = GenerationTask['operation'];
export type Role = 'reference_image' | 'start_frame' | 'end_frame';
export type EventType = GenerationEvent['type'];
export type WebhookEvent = Webhook['events'][number];
export type DeliveryState = WebhookDelivery['state'];

/** The choices that the page offers, in its order. */
export const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const satisfies readonly Status[];
export const EVENT_TYPES = [
  'queued',
  'running',
  'progress',
  'cancel_requested',
  'ended',
] as const satisfies readonly EventType[];
export const WEBHOOK_EVENTS = [
  'generation.running',
  'generation.succeeded',
  'generation.failed',
  'generation.cancelled',
] as const satisfies readonly WebhookEvent[];
export const DELIVERY_STATES = [
  'pending',
  'retrying',
  'delivered',
  'exhausted',
  'disabled',
  'cancelled',
] as const satisfies readonly DeliveryState[];

/** A value of a request or a schema. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };
