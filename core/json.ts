/** A JSON value, as `JSON.parse` gives it. Core takes requests in this form and trusts nothing about their shape. */
export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject { [name: string]: Json }
