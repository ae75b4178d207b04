import type { ProviderUse } from '../providers/provider-use.js';

/**
 * Keeps one record for each connected provider: what the workers share of it. Each method is atomic for one record. Every
 * method may throw `StoreUnavailable`. There are as many records as providers were ever configured.
 */
export interface ProviderUseStore {
  read(provider: string): Promise<ProviderUse | null>;

  /** Writes the record if its version is still the expected one, which is 0 where there is none. Durable on return. */
  replace(next: ProviderUse, expectedVersion: number): Promise<'applied' | 'conflict'>;
}
