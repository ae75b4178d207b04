import type { JsonObject } from '../../../core/json.js';
import { Violation } from '../observed.js';

/** A field of a public answer that must be text. */
export function textField(data: JsonObject, name: string): string {
  const value = data[name];
  if (typeof value !== 'string')
    throw new Violation(9, `an answer has ${JSON.stringify(value)} for its ${name}, which is no text.`);
  return value;
}
