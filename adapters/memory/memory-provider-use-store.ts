import type { ProviderUseStore } from '../../core/ports/provider-use-store.js';
import type { ProviderUse } from '../../core/providers/provider-use.js';
import { frozenCopy } from './frozen-copy.js';

/** What workers share of each provider, in this process's memory; gone when the process ends. */
export class MemoryProviderUseStore implements ProviderUseStore {
  private readonly uses = new Map<string, ProviderUse>();

  async read(provider: string): Promise<ProviderUse | null> {
    return this.uses.get(provider) ?? null;
  }

  async replace(next: ProviderUse, expectedVersion: number): Promise<'applied' | 'conflict'> {
    if ((this.uses.get(next.provider)?.version ?? 0) !== expectedVersion) return 'conflict';
    this.uses.set(next.provider, frozenCopy(next));
    return 'applied';
  }
}
