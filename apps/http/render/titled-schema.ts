import type { JsonObject } from '../../../core/json.js';

/** A schema under the name it has in the OpenAPI document. */
export type TitledSchema = JsonObject & { readonly title: string };
