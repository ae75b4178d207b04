import { readFile, stat } from 'node:fs/promises';
import type { Model } from '../../core/catalog/model.js';
import type { JsonObject } from '../../core/json.js';
import type { Catalog } from '../../core/ports/catalog.js';
import { yaml } from '../lazy-packages.js';
import { catalogFaults, type SchemaTools } from './catalog-faults.js';
import type { ModelEntry } from './catalog-schema.js';
import { LocatedYaml } from './located-yaml.js';
import { completed, explained, sourceIn } from './model-defaults.js';
import { modelOf } from './model-rules.js';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const LINE_WIDTH = 120;

/** A catalog that cannot be used. The message has every fault on a separate line, in the order of the file's lines. */
export class CatalogInvalid extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'CatalogInvalid';
  }
}

/** Lines of one model in the file. */
export interface ModelLines {
  readonly inputSchema: number;
  readonly price: number;
  readonly route: number;
  readonly onUnknownAcceptance: number;
  /** The model's own line where it has none. */
  readonly onInvalidOutput: number;
}

/** The origin of a model, recorded by the command that wrote its entry. */
export type ModelOrigin = NonNullable<ModelEntry['origin']>;

/** The data of a model in the file that core does not use. */
interface InFile extends ModelLines {
  readonly origin?: ModelOrigin | undefined;
  /** The entry with all defaults. */
  readonly explained?: JsonObject;
}

/** The models of one file, as they were when it was read. */
export class FileCatalog implements Catalog {
  readonly #models: readonly Model[];
  readonly #byKey: ReadonlyMap<string, Model>;
  readonly #inFile: ReadonlyMap<string, InFile>;

  /** `inFile` by the models' keys. */
  constructor(
    models: readonly Model[],
    inFile: ReadonlyMap<string, InFile> = new Map(),
    /** The text of the file; empty for a catalog that was not read from one. */
    readonly text = '',
  ) {
    this.#models = Object.freeze([...models]);
    this.#byKey = new Map(models.map((model) => [model.modelKey, model]));
    this.#inFile = inFile;
  }

  models(): readonly Model[] {
    return this.#models;
  }

  find(modelKey: string): Model | undefined {
    return this.#byKey.get(modelKey);
  }

  /** The lines of these in the file; line 1 when unknown. */
  linesOf(modelKey: string): ModelLines {
    return (
      this.#inFile.get(modelKey) ?? { inputSchema: 1, price: 1, route: 1, onUnknownAcceptance: 1, onInvalidOutput: 1 }
    );
  }

  /** Undefined for a model that was written by hand. */
  originOf(modelKey: string): ModelOrigin | undefined {
    return this.#inFile.get(modelKey)?.origin;
  }

  /** The text of a file that has the same models with each default written out. */
  explained(): string {
    const models = this.#models.flatMap(({ modelKey }) => this.#inFile.get(modelKey)?.explained ?? []);
    return yaml().stringify(
      { version: 1, models },
      { version: '1.2', aliasDuplicateObjects: false, lineWidth: LINE_WIDTH },
    );
  }
}

/** Reads and checks a catalog file; `name` precedes every fault. Throws `CatalogInvalid` with every fault. */
export async function loadCatalog(path: string, tools: SchemaTools, name = path): Promise<FileCatalog> {
  let bytes: Uint8Array;
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES)
      throw new CatalogInvalid([`${name}: The file must have at most ${MAX_FILE_BYTES} bytes.`]);
    bytes = await readFile(path);
  } catch (error) {
    if (error instanceof CatalogInvalid) throw error;
    throw new CatalogInvalid([`${name}: ${whyUnreadable(error)}`]);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CatalogInvalid([`${name}: The file must be UTF-8 text.`]);
  }
  return parseCatalog(text, name, tools);
}

/** The same, for a given text; `name` precedes every fault. */
export function parseCatalog(text: string, name: string, tools: SchemaTools): FileCatalog {
  const located = new LocatedYaml(text);
  const faults = catalogFaults(located, tools);
  if (faults.length > 0) throw new CatalogInvalid(faults.map(({ line, message }) => `${name}:${line}: ${message}`));
  const { models: written } = located.value as unknown as { models: JsonObject[] };
  const models: Model[] = [];
  const inFile = written.flatMap((one, index): [string, InFile][] => {
    const entry = completed(one);
    const sourceOf = sourceIn(located, `/models/${index}`, one);
    const model = modelOf(entry, sourceOf);
    if (tools.leavesOutOthers === true && !hasAllProviders(model, tools)) return [];
    models.push(model);
    const lineOf = (field: string) => located.lineOf(`/models/${index}/${field}`);
    const lines = {
      inputSchema: lineOf('input_schema'),
      price: lineOf('price'),
      route: lineOf('route'),
      onUnknownAcceptance: lineOf('on_unknown_acceptance'),
      onInvalidOutput: lineOf('on_invalid_output'),
    };
    return [[entry.model_key, { ...lines, origin: entry.origin, explained: explained(entry, model.price, sourceOf) }]];
  });
  if (models.length === 0 && written.length > 0)
    throw new CatalogInvalid([`${name}: Every model needs a provider that is not connected.`]);
  return new FileCatalog(models, new Map(inFile), text);
}

/** A model with a part of its route only would skip the provider that its catalog puts first. */
function hasAllProviders({ route }: Model, { providers }: SchemaTools): boolean {
  return providers === undefined || route.every(({ provider }) => providers.has(provider));
}

function whyUnreadable(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT') return 'There is no such file.';
  if (code === 'EISDIR') return 'This is a folder; a file is needed.';
  if (code === 'EACCES') return 'The file may not be read.';
  return 'The file cannot be read.';
}
