import type { Model } from '../catalog/model.js';

/** The models on offer. A snapshot never changes; a new catalog is a new snapshot. */
export interface Catalog {
  /** All public models in the catalog's order. */
  models(): readonly Model[];
  /** The model with exactly this key, or undefined. */
  find(modelKey: string): Model | undefined;
}

/** A catalog as it was read. */
export interface ReadCatalog {
  readonly models: readonly Model[];
  /** The text of the file. */
  readonly text: string;
  /** When it was read, in milliseconds since the epoch. */
  readonly readAt: number;
}

/** Why a file is not a catalog. */
export interface CatalogFault {
  /** Counted from 1; absent if the file could not be read. */
  readonly line?: number;
  /** One sentence. */
  readonly message: string;
}

/** The file that the catalog of this process is read from. */
export interface CatalogSource {
  /** The name of the file, without its folder. */
  readonly name: string;
  /** The catalog that this process uses. */
  inUse(): ReadCatalog;
  /** Reads the file without using it: the catalog, or the faults in the order of their lines. */
  read(): Promise<ReadCatalog | readonly CatalogFault[]>;
  /** Reads the file and uses it from now on; with faults, nothing changes. One call at a time. */
  reload(): Promise<ReadCatalog | readonly CatalogFault[]>;
}
