import { fieldInvalid } from '../../core/fields.js';
import { isUuid } from '../../core/uuid.js';

/** In lower case. Throws FIELD_INVALID, as some stores can hold nothing else. */
export function readUuid(text: string, pointer: string): string {
  if (!isUuid(text)) throw fieldInvalid(pointer, `${pointer.slice(1)} must be a UUID.`);
  return text.toLowerCase();
}
