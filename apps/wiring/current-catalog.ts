import { basename } from 'node:path';
import { CatalogInvalid, type FileCatalog } from '../../adapters/catalog-file/file-catalog.js';
import type { Model } from '../../core/catalog/model.js';
import type { Catalog, CatalogFault, CatalogSource, ReadCatalog } from '../../core/ports/catalog.js';
import type { Clock } from '../../core/ports/machine.js';

interface CatalogFile {
  readonly path: string;
  /** Throws `CatalogInvalid`, with `name` before every fault. */
  readonly load: (name: string) => Promise<FileCatalog>;
  readonly clock: Pick<Clock, 'now'>;
  /** Called when a reload that an operator requested has changed the catalog. */
  readonly onReloaded: (models: number) => void;
}

/**
 * The newest usable catalog. It changes from one snapshot to the next atomically for all callers: a caller that needs
 * two consistent answers takes both from one `models()` or keeps the model it was given.
 */
export class CurrentCatalog implements Catalog, CatalogSource {
  private reading: Promise<unknown> = Promise.resolve();

  private constructor(
    private current: FileCatalog,
    private readAt: number,
    private readonly file: CatalogFile,
  ) {}

  /** Throws `CatalogInvalid`. */
  static async open(file: CatalogFile): Promise<CurrentCatalog> {
    return new CurrentCatalog(await file.load(file.path), file.clock.now(), file);
  }

  models(): readonly Model[] {
    return this.current.models();
  }

  find(modelKey: string): Model | undefined {
    return this.current.find(modelKey);
  }

  get name(): string {
    return basename(this.file.path);
  }

  inUse(): ReadCatalog {
    const { current, readAt } = this;
    return { models: current.models(), text: current.text, readAt };
  }

  async read(): Promise<ReadCatalog | readonly CatalogFault[]> {
    try {
      const read = await this.file.load(this.name);
      return { models: read.models(), text: read.text, readAt: this.file.clock.now() };
    } catch (error) {
      return faultsOf(error, this.name);
    }
  }

  async reload(): Promise<ReadCatalog | readonly CatalogFault[]> {
    try {
      this.file.onReloaded(await this.readAgain(this.name));
      return this.inUse();
    } catch (error) {
      return faultsOf(error, this.name);
    }
  }

  /**
   * Loads the catalog again, one load at a time, and returns the number of its models. Throws `CatalogInvalid`; then
   * nothing changes.
   */
  readAgain(name = this.file.path): Promise<number> {
    const read = this.reading.then(async () => {
      this.current = await this.file.load(name);
      this.readAt = this.file.clock.now();
      return this.current.models().length;
    });
    this.reading = read.catch(() => undefined);
    return read;
  }
}

/** Rethrows an error that is not caused by the content of the file. */
function faultsOf(error: unknown, name: string): readonly CatalogFault[] {
  if (!(error instanceof CatalogInvalid)) throw error;
  return error.faults.map((fault) => {
    const message = fault.startsWith(`${name}:`) ? fault.slice(name.length + 1) : fault;
    const [, line, rest = ''] = /^(\d+): (.*)$/s.exec(message) ?? [];
    return line === undefined ? { message: message.trim() } : { line: Number(line), message: rest };
  });
}
