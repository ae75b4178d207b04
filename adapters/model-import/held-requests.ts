import { isObject, type Json, type JsonObject, memberOf } from '../../core/json.js';
import type { ReferenceRole } from '../../core/generation/generation.js';
import type { Submission } from '../../core/ports/provider.js';
import { PRESETS } from '../providers/openai/presets.js';
import type { Splits } from '../providers/shared/split-references.js';
import { checkSettings } from '../providers/shared/settings.js';
import { INPUT_SETTINGS, type InputSettings, taskInput } from '../providers/shared/task-input.js';
import { AjvJsonSchemas } from '../system/ajv-json-schemas.js';
import { shownText } from './bounded-json.js';
import type { Proposal } from './proposal.js';

/** A range of whole numbers is tried value by value up to this length, else by its ends. */
const MOST_OF_RANGE = 64;
const MOST_FAULTS = 20;

export interface HeldRequests {
  /** How many requests were made. */
  readonly count: number;
  /** One sentence for each that the vendor's schema or our own rules refuse, up to 20. */
  readonly faults: readonly string[];
}

/** One of the requests: the parameters with their defaults, and the files. */
interface Case {
  readonly about: string;
  readonly parameters: JsonObject;
  readonly references: readonly { readonly role: ReferenceRole; readonly isMasked?: boolean }[];
  readonly prompt: string;
  readonly negativePrompt?: string;
}

const schemas = new AjvJsonSchemas();
const SETTINGS_SCHEMA: JsonObject = { type: 'object', properties: INPUT_SETTINGS };

/** The sentences of `heldRequests`. */
export async function heldRequestFaults(proposal: Proposal): Promise<readonly string[]> {
  return (await heldRequests(proposal)).faults;
}

/**
 * Makes a request for each value of each parameter, with and without files, as the provider would make it, and holds each
 * against the vendor's schema. Sends nothing.
 */
export async function heldRequests(proposal: Proposal): Promise<HeldRequests> {
  const { entry, vendorInput } = proposal;
  const checked = checkSettings(SETTINGS_SCHEMA, inputSettingsOf(entry));
  if ('fault' in checked) return { count: 0, faults: [`The settings cannot be used: ${checked.fault}`] };
  const settings = checked.settings as unknown as InputSettings;
  const cases = casesOf(entry, settings);
  const inputSchema = (entry['input_schema'] ?? {}) as JsonObject;
  const faults: string[] = [];
  for (const one of cases) {
    const made = await taskInput(settings, { ...submissionOf(one), inputSchema }, async () => FILE, SPLITS);
    const fault =
      'refused' in made ? 'the rules of the entry refuse it' : firstFault(vendorInput, made.input as JsonObject);
    if (fault !== undefined)
      faults.push(`A request with ${one.about} does not fit the vendor's schema: ${fault.replace(/\.$/, '')}.`);
    if (faults.length >= MOST_FAULTS) break;
  }
  return { count: cases.length, faults };
}

/** A model of the provider kind openai has no field rules of its own: the preset of the kind has them. */
function inputSettingsOf(entry: JsonObject): JsonObject {
  const settings = (entry['provider_settings'] ?? {}) as JsonObject;
  if (entry['provider'] !== 'openai') return settings;
  return { fields: (PRESETS.openai.sync?.fields ?? {}) as unknown as JsonObject };
}

function firstFault(vendorInput: JsonObject, input: JsonObject): string | undefined {
  return schemas.check(vendorInput, input).faults[0]?.message;
}

// ---- the cases

function casesOf(entry: JsonObject, settings: InputSettings): readonly Case[] {
  const properties = propertiesOf(entry);
  const required = (memberOf(entry['input_schema'], 'required') ?? []) as string[];
  const base: JsonObject = {};
  for (const [name, schema] of Object.entries(properties)) {
    if (schema['default'] !== undefined) base[name] = schema['default'];
    else if (required.includes(name)) base[name] = valuesOf(schema)[0] ?? null;
  }
  const withFiles = fileCases(entry, settings);
  const least = withFiles[0] ?? [];
  // A model without a prompt is never sent one.
  const plain = { parameters: base, references: least, prompt: entry['prompt'] === 'none' ? '' : 'a lighthouse' };
  const takesNegative = memberOf(entry['limits'], 'negative_prompt') === true;
  return [
    { ...plain, about: 'defaults' },
    ...(entry['prompt'] === 'optional' ? [{ ...plain, about: 'no prompt', prompt: '' }] : []),
    ...(takesNegative ? [{ ...plain, about: 'a negative prompt', negativePrompt: 'blurry' }] : []),
    ...withFiles.slice(1).map((references) => ({ ...plain, about: filesInWords(references), references })),
    ...Object.entries(properties).flatMap(([name, schema]) =>
      valuesOf(schema).map((value) => ({
        ...plain,
        about: `${name} ${shownText(JSON.stringify(value), 60)}`,
        parameters: { ...base, [name]: value },
      })),
    ),
  ];
}

function propertiesOf(entry: JsonObject): Readonly<Record<string, JsonObject>> {
  const properties = memberOf(entry['input_schema'], 'properties');
  return (isObject(properties) ? properties : {}) as Record<string, JsonObject>;
}

/** Each value of a list, and the bounds of a range with the values between them if they are few. */
function valuesOf(schema: JsonObject): readonly Json[] {
  const { enum: listed, type, minimum, maximum, default: byDefault } = schema;
  if (Array.isArray(listed)) return listed;
  if (type === 'boolean') return [false, true];
  if (type === 'string') return ['x', 'x'.repeat(Number(schema['maxLength'] ?? 1))];
  if (typeof minimum !== 'number' || typeof maximum !== 'number') return [];
  if (type === 'integer' && maximum - minimum < MOST_OF_RANGE)
    return Array.from({ length: maximum - minimum + 1 }, (_, index) => minimum + index);
  return [minimum, maximum, ...(typeof byDefault === 'number' ? [byDefault] : [])];
}

type Files = Case['references'];

/**
 * The fewest files, each role with one more and with the most, all together, and a masked one. Requests without the files that
 * `required_roles` names, or without the mask that the settings require, are refused before they are sent.
 */
function fileCases(entry: JsonObject, { references, mask }: InputSettings): readonly Files[] {
  const roles = Object.keys(references) as ReferenceRole[];
  const required = (entry['required_roles'] ?? []) as ReferenceRole[];
  const most = Number(memberOf(entry['limits'], 'max_reference_uploads') ?? roles.length);
  const filesOf = (role: ReferenceRole, count: number): Files =>
    Array.from({ length: count }, (_, index) => ({
      role,
      ...(mask?.required === true && role === 'reference_image' && index === 0 ? { isMasked: true } : {}),
    }));
  const needed = (role: ReferenceRole) => required.filter((one) => one === role).length;
  const fewest = (role: ReferenceRole) => Math.max(1, needed(role));
  const leastWithout = (other?: ReferenceRole) =>
    roles.filter((role) => role !== other).flatMap((role) => filesOf(role, needed(role)));
  const each = roles.flatMap((role): Files[] => {
    const others = leastWithout(role);
    const room = Math.max(fewest(role), Math.min(most - others.length, capacityOf([references[role] ?? []].flat())));
    return [
      [...others, ...filesOf(role, fewest(role))],
      [...others, ...filesOf(role, room)],
    ];
  });
  const all: Files[] =
    roles.length > 1 && roles.length <= most ? [roles.flatMap((role) => filesOf(role, fewest(role)))] : [];
  const images = filesOf('reference_image', fewest('reference_image')).map((file, index) =>
    index === 0 ? { ...file, isMasked: true } : file,
  );
  const masked: Files[] = mask === undefined ? [] : [[...leastWithout('reference_image'), ...images]];
  return [leastWithout(), ...each, ...all, ...masked];
}

/** How many files the fields of a role take. */
function capacityOf(fields: readonly { readonly many?: boolean; readonly maximum?: number }[]): number {
  return fields.reduce((sum, { many = false, maximum = Infinity }) => sum + (many ? maximum : 1), 0);
}

function filesInWords(references: Files): string {
  const masked = references.some(({ isMasked }) => isMasked === true) ? ' and a mask' : '';
  return `${references.length} file${references.length === 1 ? '' : 's'}${masked}`;
}

// ---- a request

/** The value that stands for a file. */
const FILE = 'https://files.example/picture.png';

/** A picture whose bytes are never read. */
const NO_BYTES = {
  byteSize: 1,
  mediaType: 'image/png',
  open: () => Promise.reject(new Error('Held requests send no bytes.')),
};

const SPLITS: Splits = {
  split: async () => ({ colours: NO_BYTES, mask: NO_BYTES }),
  withAlpha: async () => NO_BYTES,
};

function submissionOf({ parameters, references, prompt, negativePrompt }: Case): Submission {
  return {
    generationId: 'held',
    attempt: 1,
    modelKey: 'held',
    operation: 'image_generation',
    prompt,
    ...(negativePrompt === undefined ? {} : { negativePrompt }),
    parameters,
    references: references.map((reference) => ({ ...NO_BYTES, ...reference })),
    settings: {},
    token: '00000000-0000-4000-8000-000000000000',
    outputCount: 1,
    timeLeftMs: 60_000,
  };
}
