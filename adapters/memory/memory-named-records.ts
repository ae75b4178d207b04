import { frozenCopy } from './frozen-copy.js';

/** Records by name, each written onto the version that its writer saw; 0 stands for none. */
export class MemoryNamedRecords<T extends { readonly version: number }> {
  private readonly records = new Map<string, T>();

  constructor(private readonly nameOf: (record: T) => string) {}

  read(name: string): T | null {
    return this.records.get(name) ?? null;
  }

  replace(next: T, expectedVersion: number): 'applied' | 'conflict' {
    const name = this.nameOf(next);
    if ((this.records.get(name)?.version ?? 0) !== expectedVersion) return 'conflict';
    this.records.set(name, frozenCopy(next));
    return 'applied';
  }
}
