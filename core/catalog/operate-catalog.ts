import type { Machine, Models } from '../context.js';
import { ServiceError } from '../errors.js';
import type { Json } from '../json.js';
import type { CatalogFault, CatalogSource, ReadCatalog } from '../ports/catalog.js';
import type { Model } from './model.js';

/** The catalog that this process uses, as operators see it. */
export interface CatalogInUse {
  readonly fileName: string;
  readonly readAt: number;
  readonly models: readonly Model[];
  /** The text of the file; absent if it is not shown. */
  readonly text?: string;
  /** Why the text is not shown. */
  readonly textHidden?: TextHidden;
}

/** `large`: it has more than `MAX_TEXT` characters. `secrets`: something in it looks like a secret. */
export const TEXT_HIDDEN = ['large', 'secrets'] as const;
export type TextHidden = (typeof TEXT_HIDDEN)[number];

const MAX_TEXT = 256 * 1024;

/** Keys of models, in the order of the file. */
export interface CatalogChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** Whether the models that stay are in another order. */
  readonly isReordered: boolean;
}

/** The file as it is now, compared with what this process uses. */
export interface CatalogCheck {
  readonly fileName: string;
  /** In the order of the lines; empty if the file can be used. */
  readonly faults: readonly CatalogFault[];
  /** Absent if there are faults. */
  readonly changes?: CatalogChanges;
  /** Models of the file; absent if there are faults. */
  readonly models?: number;
}

/** The catalog of this process. Throws NOT_FOUND for a process whose catalog is not read from a file. */
export function catalogInUse(context: Models): CatalogInUse {
  const source = sourceOf(context);
  const { models, text, readAt } = source.inUse();
  const textHidden = whyHidden(text);
  return { fileName: source.name, readAt, models, ...(textHidden === undefined ? { text } : { textHidden }) };
}

function whyHidden(text: string): TextHidden | undefined {
  if (text.length > MAX_TEXT) return 'large';
  return mayHaveSecret(text) ? 'secrets' : undefined;
}

/** The changes that a reload of this process would make. Throws as `catalogInUse` does. */
export async function checkCatalog(context: Models & Machine): Promise<CatalogCheck> {
  const source = sourceOf(context);
  const { models: before } = source.inUse();
  return compared(context, source, before, await source.read());
}

/**
 * Has this process use the file as it is now, and returns what that has changed; with faults, nothing. Other processes keep
 * the catalog that they have. Throws as `catalogInUse` does.
 */
export async function reloadCatalog(context: Models & Machine): Promise<CatalogCheck> {
  const source = sourceOf(context);
  const { models: before } = source.inUse();
  return compared(context, source, before, await source.reload());
}

function sourceOf({ catalogSource }: Models): CatalogSource {
  if (catalogSource === undefined)
    throw new ServiceError('NOT_FOUND', 'The catalog of this process is not read from a file.');
  return catalogSource;
}

function compared(
  context: Machine,
  { name: fileName }: CatalogSource,
  before: readonly Model[],
  read: ReadCatalog | readonly CatalogFault[],
): CatalogCheck {
  if (!('models' in read)) return { fileName, faults: read };
  return { fileName, faults: [], models: read.models.length, changes: changesOf(context, before, read.models) };
}

function changesOf({ digests }: Machine, before: readonly Model[], after: readonly Model[]): CatalogChanges {
  const known = new Map(before.map((model) => [model.modelKey, model]));
  const kept = new Set(after.map(({ modelKey }) => modelKey));
  // Fields that are undefined count as absent.
  const digestOf = (model: Model): string => digests.ofJson(JSON.parse(JSON.stringify(model)) as Json);
  const staying = before.filter(({ modelKey }) => kept.has(modelKey));
  const inOrder = after.filter(({ modelKey }) => known.has(modelKey));
  return {
    added: after.flatMap(({ modelKey }) => (known.has(modelKey) ? [] : [modelKey])),
    removed: before.flatMap(({ modelKey }) => (kept.has(modelKey) ? [] : [modelKey])),
    changed: inOrder.flatMap((model) => {
      const earlier = known.get(model.modelKey);
      return earlier === undefined || digestOf(earlier) === digestOf(model) ? [] : [model.modelKey];
    }),
    isReordered: staying.some(({ modelKey }, index) => inOrder[index]?.modelKey !== modelKey),
  };
}

/** A name that a secret has, and a value that is not empty, a number, or the name of something. */
const NAMED =
  /(?:api[_-]?key|access[_-]?key|secret|passw(?:or)?d|authorization|bearer|credentials?|(?:access|auth|api)[_-]?token)["']?\s*[:=]\s*["']?(?:bearer\s+)?[^\s"'{}[\],#]{6,}/iu;
/** The beginnings of keys of this service and of vendors, and a name and password in a URL. */
const SHAPED = /\b(?:svc_live_|svc_oauth_|sk-|r8_|hf_|ghp_|AKIA)[\w-]{8,}|:\/\/[^\s/@"']+:[^\s/@"']+@/u;

/**
 * Whether something in the text looks like a secret. A catalog needs none, since keys belong in the configuration; one that an
 * operator wrote there nevertheless must not be shown in a browser.
 */
export function mayHaveSecret(text: string): boolean {
  return NAMED.test(text) || SHAPED.test(text);
}
