import type { Model } from '../../core/catalog/model.js';
import type { Catalog } from '../../core/ports/catalog.js';

/**
 * The newest usable catalog. It changes from one snapshot to the next atomically for all callers: a caller that needs
 * two consistent answers takes both from one `models()` or keeps the model it was given.
 */
export class CurrentCatalog implements Catalog {
  private reading: Promise<unknown> = Promise.resolve();

  constructor(
    private current: Catalog,
    private readonly load: () => Promise<Catalog>,
  ) {}

  models(): readonly Model[] {
    return this.current.models();
  }

  find(modelKey: string): Model | undefined {
    return this.current.find(modelKey);
  }

  /**
   * Loads the catalog again, one load at a time, and returns the number of its models. Throws the errors of `load`;
   * then nothing changes.
   */
  readAgain(): Promise<number> {
    const read = this.reading.then(async () => {
      this.current = await this.load();
      return this.current.models().length;
    });
    this.reading = read.catch(() => undefined);
    return read;
  }
}
