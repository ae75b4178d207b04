import type { ProviderUseStore } from '../../core/ports/stores.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import { MemoryNamedRecords } from './memory-named-records.js';

/** What workers share of each provider, in this process's memory; gone when the process ends. */
export class MemoryProviderUseStore implements ProviderUseStore {
  private readonly uses = new MemoryNamedRecords<ProviderUse>(({ provider }) => provider);

  async read(provider: string): Promise<ProviderUse | null> {
    return this.uses.read(provider);
  }

  async replace(next: ProviderUse, expectedVersion: number): Promise<'applied' | 'conflict'> {
    return this.uses.replace(next, expectedVersion);
  }
}
