import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { LocatedYaml } from '../../../adapters/catalog-file/located-yaml.js';
import { parseBounded } from '../../../adapters/model-import/bounded-json.js';
import { fetchModel } from '../../../adapters/model-import/fetch-model.js';
import { heldRequestFaults } from '../../../adapters/model-import/held-requests.js';
import type { ImportOptions, Proposal, RecordedModel, Vendor } from '../../../adapters/model-import/proposal.js';
import { proposeModel } from '../../../adapters/model-import/propose-model.js';
import { digestOf, schemaDigest } from '../../../adapters/model-import/schema-digest.js';
import { assert } from '../../../core/assert.js';
import type { Json, JsonObject } from '../../../core/json.js';
import type { Config } from '../../config/config.js';
import { variableOf } from '../../config/keys.js';
import { printable } from '../../logging/logged-fields.js';
import { Failure, usageFailure } from '../exit.js';
import type { CliIo } from '../io.js';
import { nameOfFile } from './installation.js';
import type { ModelRef } from './model-ref.js';

/** The decisions of the person who adds a model; `origin` of the entry keeps what differs from the defaults. */
export type ProposalOptions = Omit<ImportOptions, 'today'>;

export const DEFAULT_OPTIONS = {
  all: false,
  set: {},
  dollarCredits: 100,
  markup: 1.3,
} as const satisfies ProposalOptions;

/** An entry for the catalog with its origin, and what its reader should know. */
export interface ProposedEntry extends Pick<Proposal, 'entry' | 'guesses' | 'dropped' | 'hints'> {
  readonly digest: string;
  /** A file that the settings name and that has to be copied there: its absolute path and its text. */
  readonly file?: { readonly path: string; readonly text: string };
}

export interface ProposalNeeds {
  readonly ref: ModelRef;
  readonly options: ProposalOptions;
  /** Has the provider. */
  readonly config: Config;
  readonly instance: string;
  /** A file with the vendor's answer, in place of a request. */
  readonly schema?: string | undefined;
  /** UTC, as YYYY-MM-DD. */
  readonly today: string;
}

const FETCH_MS = 60_000;

/** Reads what the vendor says, and proposes an entry. Throws one sentence that says why there is none. */
export async function propose(io: CliIo, needs: ProposalNeeds): Promise<ProposedEntry> {
  const { ref, options, instance, schema, today } = needs;
  const { vendor } = ref;
  if (vendor === undefined) {
    if (schema !== undefined) throw usageFailure(`--schema is not for ${ref.kind}: its file is read.`);
    return proposeFile(io, needs);
  }
  const recorded =
    schema === undefined ? await recordedOf(needs, vendor, true) : await recordedIn(io, schema, ref, vendor);
  const proposal = proposeModel(recorded, { ...options, today });
  const [fault, ...others] = await heldRequestFaults(proposal);
  if (fault !== undefined) {
    const more = others.length === 0 ? '' : ` There are ${others.length} more such faults.`;
    throw new Failure(`${ref.id} cannot be added as it is proposed. ${fault}${/[.?]$/.test(fault) ? '' : '.'}${more}`);
  }
  const digest = schemaDigest(recorded);
  return {
    entry: withOrigin(proposal.entry, { instance, ref, digest, today, options, version: proposal.version }),
    guesses: proposal.guesses,
    dropped: proposal.dropped,
    hints: proposal.hints,
    digest,
  };
}

/** The vendor's present description of a model, with or without its price. */
export function recordedOf(
  { ref, config, instance }: Pick<ProposalNeeds, 'ref' | 'config' | 'instance'>,
  vendor: Vendor,
  needsPrice: boolean,
): Promise<RecordedModel> {
  const configured = config.providers.get(instance);
  if (configured === undefined) throw new Failure(`There is no provider ${instance} in the configuration.`);
  const keyVariable = variableOf(`providers.${instance}.api_key`);
  return fetchModel(
    { vendor, id: ref.id, instance, options: configured.options, keyVariable, needsPrice },
    AbortSignal.timeout(FETCH_MS),
  );
}

async function recordedIn(io: CliIo, path: string, { id }: ModelRef, vendor: Vendor): Promise<RecordedModel> {
  return { vendor, id, document: parseBounded(await textOf(path, io.folder), printable(path)) };
}

async function textOf(path: string, folder: string): Promise<string> {
  try {
    return await readFile(resolve(folder, path), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw usageFailure(`There is no file ${printable(path)}.`);
    throw usageFailure(`${printable(path)} cannot be read (${code}).`);
  }
}

interface Origin extends Pick<ProposalNeeds, 'instance' | 'ref' | 'today' | 'options'> {
  readonly digest: string;
  readonly version?: string | undefined;
}

/** The entry at the named provider, and where it comes from. */
function withOrigin(entry: JsonObject, { instance, ref, digest, today, options, version }: Origin): JsonObject {
  const recorded = {
    ...(options.all ? { all: true } : {}),
    ...(Object.keys(options.set).length === 0 ? {} : { set: options.set }),
    ...(options.dollarCredits === DEFAULT_OPTIONS.dollarCredits ? {} : { dollar_credits: options.dollarCredits }),
    ...(options.markup === DEFAULT_OPTIONS.markup ? {} : { markup: options.markup }),
    ...(options.price === undefined ? {} : { price: options.price }),
  };
  return {
    ...entry,
    provider: instance,
    origin: {
      ref: ref.text,
      date: today,
      digest,
      ...(version === undefined ? {} : { version }),
      ...(Object.keys(recorded).length === 0 ? {} : { options: recorded }),
    },
  };
}

/** The options that `origin` of an entry has. */
export function optionsOf(recorded: JsonObject = {}): ProposalOptions {
  const { all, set, dollar_credits: dollarCredits, markup, price } = recorded;
  return {
    all: all === true,
    set: textsOf(set),
    dollarCredits: typeof dollarCredits === 'number' ? dollarCredits : DEFAULT_OPTIONS.dollarCredits,
    markup: typeof markup === 'number' ? markup : DEFAULT_OPTIONS.markup,
    ...(typeof price === 'string' || typeof price === 'number' ? { price: String(price) } : {}),
  };
}

function textsOf(set: Json | undefined): Readonly<Record<string, string>> {
  if (typeof set !== 'object' || set === null || Array.isArray(set)) return {};
  return Object.fromEntries(
    Object.entries(set).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/** The entry that the kind of provider proposes for a file, with the price that was given. */
async function proposeFile(io: CliIo, needs: ProposalNeeds): Promise<ProposedEntry> {
  const { ref, options, config, instance, today } = needs;
  const { price } = options;
  if (price === undefined)
    throw usageFailure('A file has no price: give --price, the credits for a picture or a second.');
  if (options.all || Object.keys(options.set).length > 0)
    throw usageFailure(`--all and --set are not for ${ref.kind}: edit the settings of the entry instead.`);
  const configured = config.providers.get(instance);
  const imports = configured?.driver.imports;
  assert(configured !== undefined && imports !== undefined, 'a reference without a vendor is of an importing kind');
  const text = await textOf(ref.id, io.folder);
  const below = configured.options['workflow_folder'];
  const folder = resolve(dirname(config.catalog), typeof below === 'string' ? below : '.');
  const source = resolve(io.folder, ref.id);
  const inFolder = relative(folder, source);
  const isElsewhere = inFolder.startsWith('..') || isAbsolute(inFolder);
  const path = isElsewhere ? (source.split(/[/\\]/).at(-1) ?? '') : inFolder;
  const proposed = await imports.propose(text, path);
  const { models } = new LocatedYaml(proposed).value as unknown as { readonly models: readonly [JsonObject] };
  const { minimum_credits: _, maximum_credits: __, version: ___, ...terms } = models[0]['price'] as JsonObject;
  const digest = digestOf(text);
  // The copy is what the entry is compared with later.
  const copy = join(folder, path);
  const known = isElsewhere ? { ...ref, text: `${ref.kind}:${nameOfFile(copy, io.folder)}` } : ref;
  const entry = { ...models[0], price: { ...terms, credits_per_unit: Number(price) } };
  return {
    entry: withOrigin(entry, { instance, ref: known, digest, today, options }),
    guesses: [...proposed.matchAll(/^# Check: (.*)$/gm)].map(([, check = '']) => check),
    dropped: [],
    hints: [],
    digest,
    ...(isElsewhere ? { file: { path: copy, text } } : {}),
  };
}
