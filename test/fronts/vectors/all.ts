import { ACCESS_VECTORS } from './access.js';
import { GENERATION_FIELD_VECTORS } from './generation-fields.js';
import { GENERATION_VECTORS } from './generations.js';
import { IDEMPOTENCY_VECTORS } from './idempotency.js';
import { LIST_VECTORS } from './lists.js';
import { UPLOAD_VECTORS } from './uploads.js';
import { WEBHOOK_VECTORS } from './webhooks.js';
import type { Vector } from './vector.js';

/** Everything every front must answer alike, by topic. */
export const VECTORS_BY_TOPIC: Readonly<Record<string, readonly Vector[]>> = {
  'access': ACCESS_VECTORS,
  'idempotency': IDEMPOTENCY_VECTORS,
  'fields of a generation': GENERATION_FIELD_VECTORS,
  'generations': GENERATION_VECTORS,
  'lists': LIST_VECTORS,
  'uploads': UPLOAD_VECTORS,
  'webhooks': WEBHOOK_VECTORS,
};
