/**
 * What a task has cost the operator, as far as the provider says. Whole numbers of at least 0; what it does not say is
 * absent.
 */
export interface ProviderCost {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** The time of its machines, in milliseconds. */
  readonly computeMs?: number;
  /** In millionths of one unit of the currency, which is three capital letters of ISO 4217. */
  readonly money?: { readonly micros: number; readonly currency: string };
}
