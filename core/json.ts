/** A JSON value, as `JSON.parse` gives it. Core takes requests in this form and trusts nothing about their shape. */
export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject { [name: string]: Json }

/** One page of a list. `nextCursor` is absent on the last page; a cursor is opaque to the caller. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

export interface PageRequest {
  /** 1 to 1,000 items. */
  readonly limit: number;
  readonly cursor?: string;
}
