import { fieldInvalid, readBody, type BodySchema, type Wording } from '../../../core/fields.js';
import { readIdempotencyKey } from '../../../core/idempotency/key.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { UUID } from '../render/schema-parts.js';
import type { ToolCall } from './tool.js';

export const IDEMPOTENCY_KEY = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description:
    'Any text of your choice, without spaces. Make a new one for each new intent. To repeat a request whose answer was lost, send the same key with the same arguments: it is then done, and paid, only once.',
} as const satisfies JsonObject;

export const WAIT_SECONDS = {
  type: 'integer',
  minimum: 0,
  maximum: 50,
  default: 25,
  description: 'How long to wait for the result; with 0 the answer comes at once.',
} as const satisfies JsonObject;

export const GENERATION_ID = { ...UUID, description: 'Id of the generation.' } as const satisfies JsonObject;

/** The input of a tool that takes these arguments and no other. */
export function inputOf(properties: JsonObject, required: readonly string[] = []): BodySchema {
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 ? { required: [...required] } : {}),
    properties,
  };
}

/** The arguments, checked. Throws FIELD_REQUIRED and FIELD_INVALID. */
export function readArguments<T>(
  { context, args }: Pick<ToolCall, 'context' | 'args'>,
  input: BodySchema,
  wording: Wording = {},
): T & JsonObject {
  return readBody<T>(context, input, args, wording);
}

/** Takes the key out of the arguments. Throws IDEMPOTENCY_KEY_REQUIRED and IDEMPOTENCY_KEY_INVALID. */
export function takeIdempotencyKey(args: JsonObject): string {
  const key: Json | undefined = args['idempotency_key'];
  if (key === undefined || key === null) return readIdempotencyKey([]);
  if (typeof key !== 'string') throw fieldInvalid('/idempotency_key', 'idempotency_key must be a text.');
  return readIdempotencyKey([key]);
}

/** The arguments without those that are the tool's own: the body of REST. */
export function withoutOwn(args: JsonObject, own: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !own.includes(name)));
}

const MS = 1_000;

/** How long the call is to wait, in milliseconds. */
export function waitMsOf(waitSeconds: number | undefined): number {
  return (waitSeconds ?? WAIT_SECONDS.default) * MS;
}
