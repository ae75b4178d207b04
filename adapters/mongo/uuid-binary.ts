import { UUID } from 'mongodb';
import { assert } from '../../core/assert.js';

const TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id as 16 bytes, or null for a text that is not a UUID in our notation: no record has such an id. */
export function uuidOf(text: string): UUID | null {
  return TEXT.test(text) ? new UUID(text) : null;
}

/** The id of something to be written, which only a mistake in the program makes no UUID. */
export function ownUuid(text: string): UUID {
  const id = uuidOf(text);
  assert(id !== null, 'what is stored has a UUID');
  return id;
}

export function textOf(id: UUID): string {
  return id.toHexString(true);
}
