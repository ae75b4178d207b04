import type { Json, JsonObject } from '../../core/json.js';

/** The vendors whose schemas are read. Each is also the kind of the provider that the entry names. */
export const VENDORS = ['fal', 'replicate', 'cog', 'openai'] as const;
export type Vendor = (typeof VENDORS)[number];

/** The vendor's charge for one of its billable units. */
export interface VendorPrice {
  /** A decimal. */
  readonly unitPrice: string;
  /** In the vendor's words, such as `megapixels`. */
  readonly unit: string;
  /** Such as `USD`. */
  readonly currency: string;
}

/** A model as its vendor describes it. */
export interface RecordedModel {
  readonly vendor: Vendor;
  /** The model's name at the vendor, such as `fal-ai/flux/schnell`; for Cog, the address of the container. */
  readonly id: string;
  /** The whole answer of the vendor's API, from `parseBounded`. */
  readonly document: Json;
  readonly price?: VendorPrice;
  /** How the operator sets the key, where the vendor tells a price to keys alone and none is set: the name of a variable. */
  readonly missingKey?: string;
}

export interface ImportOptions {
  /** Also offers the fields that the rules leave out, as parameters. */
  readonly all: boolean;
  /** Constants by the vendor's fields, as texts; and `references`, the number of pictures that a list takes. */
  readonly set: Readonly<Record<string, string>>;
  /** Credits for one dollar; above 0. */
  readonly dollarCredits: number;
  /** The factor between the vendor's price and the client's; above 0. */
  readonly markup: number;
  /** Credits per unit, a decimal with at most 6 places; in place of a price that is computed. */
  readonly price?: string;
  /** The day of the import, as YYYY-MM-DD: a model that ends by then is refused. */
  readonly today: string;
}

/** A catalog entry for a vendor's model, and what its reader should know. Each text is one sentence or one line. */
export interface Proposal {
  /** In the order in which it is written, without the values that are defaults. */
  readonly entry: JsonObject;
  /** The decisions that the schema does not state. */
  readonly guesses: readonly string[];
  /** The vendor's fields that are never sent, each with the reason. */
  readonly dropped: readonly string[];
  /** Lines of YAML for the price that an operator may complete, each to be written as a comment. */
  readonly hints: readonly string[];
  /** The input that the vendor takes, as a closed JSON Schema 2020-12 without references. */
  readonly vendorInput: JsonObject;
  /** The version of the model that was read, where the vendor has versions. */
  readonly version?: string;
}

/** A model that cannot be imported. The message is one sentence that says why, and what to do if anything helps. */
export class ImportRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ImportRefused';
  }
}
