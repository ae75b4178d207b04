/** A JSON value, as `JSON.parse` gives it. Core takes requests in this form and trusts nothing about their shape. */
export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject { [name: string]: Json }

/** A name as one reference token of a JSON Pointer (RFC 6901). */
export function escapePointerToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
