import type { IncomingMessage } from 'node:http';
import { fieldInvalid } from '../../../core/fields.js';
import { escapePointerToken, type Json } from '../../../core/json.js';
import { MAX_EMPTY_BODY_BYTES } from './limits.js';
import { declaredBytes } from './read-bytes.js';
import { readBody, type BodyRules } from './read-body.js';

/**
 * For operations that take no body: there is none, or it is an object without fields, which many clients send. Throws
 * as `readBody` does, and FIELD_INVALID for a body with something in it, as for any unknown field.
 */
export async function readNoBody(req: IncomingMessage, rules: Omit<BodyRules, 'required' | 'maxBytes'>): Promise<Json> {
  if (declaredBytes(req) === 0) return {};
  const body = await readBody(req, { ...rules, maxBytes: MAX_EMPTY_BODY_BYTES, required: false });
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    throw fieldInvalid('', 'This operation takes no body; send none, or an object without fields.');
  const [name] = Object.keys(body);
  if (name !== undefined)
    throw fieldInvalid(`/${escapePointerToken(name)}`, `This operation takes no body: unknown field "${name}".`);
  return body;
}
