import { placeRefusal } from '../../core/catalog/injection.js';
import type { Json, JsonObject } from '../../core/json.js';
import { TOP_LEVEL_DOMAINS } from '../system/top-level-domains.js';
import { checkBounds, shownText } from './bounded-json.js';
import { Draft } from './draft.js';
import { proposeOpenaiModel } from './openai-model.js';
import { type ModelOutput, outputOfModel } from './outputs.js';
import {
  dropOperatorFields,
  isSendable,
  takeAudio,
  takeCount,
  takeDuration,
  takeFormat,
  takeQuality,
  takeRest,
  takeSafety,
  takeSeed,
} from './parameters.js';
import { fileKind, type ModelFiles, takeFiles } from './pictures.js';
import { priceHints, priceOf, unitCostOf } from './prices.js';
import { type ImportOptions, ImportRefused, type Proposal, type RecordedModel } from './proposal.js';
import { takeSizes } from './sizes.js';
import { readDocument, type VendorDocument } from './vendor-document.js';
import { fieldsOf, type VendorField } from './vendor-field.js';
import { fittingOnly } from './vendor-schema.js';

/** The largest file that the catalog lets a model take unless the entry says otherwise. */
const DEFAULT_UPLOAD_BYTES = 10 * 1024 * 1024;
const MAX_PROMPT_CHARACTERS = 8_000;
/** The longest text of a list of values; vendors' own are words. */
const MAX_CHOICE = 100;

/**
 * Makes a catalog entry for a model from the answer of its vendor. Nothing is fetched, and no text of the answer is followed.
 * Throws `ImportRefused` with one sentence for a model that cannot be offered, for a document that cannot be read, and where
 * only the operator can say what is missing.
 */
export function proposeModel(recorded: RecordedModel, options: ImportOptions): Proposal {
  checkBounds(recorded.document);
  if (recorded.vendor === 'openai') return proposeOpenaiModel(recorded, options);
  const document = readDocument(recorded);
  const output = outputOfModel(recorded, document);
  const fields = usableFields(document);
  const draft = new Draft(
    {
      vendor: recorded.vendor,
      id: shownText(recorded.id, 200),
      modality: output.modality,
      makesList: output.makesList,
      ...(document.category === undefined ? {} : { category: document.category }),
      needsNothing: !fields.some(({ isRequired }) => isRequired),
      options,
    },
    fields,
  );
  for (const guess of output.guesses) draft.guess(guess);
  dropUnusable(draft, document);
  fixGiven(draft);
  const prompt = takePrompt(draft);
  const negative = takeNegativePrompt(draft);
  const files = takeFiles(draft);
  takeSizes(draft, files.requiredRoles.length > 0);
  takeDuration(draft);
  takeCount(draft);
  takeQuality(draft);
  takeAudio(draft);
  takeSeed(draft);
  const format = takeFormat(draft) ?? formatByDefault(draft, output);
  takeSafety(draft);
  dropOperatorFields(draft);
  takeRest(draft);
  const price = priceOf(draft, recorded);
  const hints = priceHints(draft, price);
  const factors = hints.flatMap((line) => /^ {2}- \{ parameter: (\w+),/.exec(line)?.[1] ?? []);
  if (factors.length > 0 && options.price === undefined)
    draft.guess(
      `The price is one for all values of ${factors.join(', ')}: compare the vendor's page, and set the factors below the price where it differs.`,
    );
  if (price['unit'] === 'megapixel' && files.roles.length > 0)
    draft.guess(
      'The price counts the megapixels of the output; for those of the input, if the vendor bills them, there is input_credits_per_megapixel.',
    );
  const settings = settingsOf(draft, recorded, { document, output, format, prompt, negative, files });
  return {
    entry: entryOf(draft, recorded, { document, prompt, negative, files, price, hints, settings }),
    guesses: draft.guesses,
    dropped: draft.dropped,
    hints,
    vendorInput: closed(fittingOnly(document.input)),
    ...(document.version === undefined ? {} : { version: document.version }),
  };
}

/** The vendor takes no fields but those that it names, as far as we are concerned. */
function closed(input: JsonObject): JsonObject {
  return { ...input, type: 'object', additionalProperties: false };
}

/** The fields, with values only that clients may send. */
function usableFields({ input }: VendorDocument): readonly VendorField[] {
  return fieldsOf(input).fields.map((field) => {
    const choices = field.choices?.filter((value) => String(value).length <= MAX_CHOICE && !isPlace(value));
    if (choices === undefined || choices.length === field.choices?.length) return field;
    return { ...field, choices };
  });
}

function isPlace(value: Json): boolean {
  return placeRefusal({ topLevelDomains: TOP_LEVEL_DOMAINS }, { value }, []) !== undefined;
}

function dropUnusable(draft: Draft, { input, isEnded }: VendorDocument): void {
  const { id } = draft.subject;
  if (isEnded) draft.guess('The vendor says that the model is no longer kept.');
  const required = Array.isArray(input['required']) ? input['required'] : [];
  for (const name of fieldsOf(input).unusable) {
    const shown = shownText(name, 64);
    if (required.includes(name)) throw new ImportRefused(`${id} needs a field whose name cannot be sent: ${shown}.`);
    draft.dropped.push(`${shown}: its name cannot be sent`);
  }
  const unknown = required.find((name) => !Object.hasOwn(input['properties'] as JsonObject, name as string));
  if (unknown !== undefined)
    throw new ImportRefused(`${id} needs a field that its schema does not describe: ${shownText(unknown, 64)}.`);
  for (const field of draft.left()) {
    if (Object.hasOwn(draft.subject.options.set, field.name)) continue;
    if (field.isMissing) draft.drop(field, 'its values are missing in the document');
    else if (field.isDeprecated && !field.isRequired) draft.drop(field, 'deprecated');
  }
}

/** Constants of the operator, by `--set`. */
function fixGiven(draft: Draft): void {
  for (const [name, text] of Object.entries(draft.subject.options.set)) {
    if (name === 'references') continue;
    const field = draft.named(name);
    if (field === undefined)
      throw new ImportRefused(`${draft.subject.id} has no field ${shownText(name, 64)}, which --set names.`);
    if (PROMPT_NAMES.includes(name)) throw new ImportRefused(`--set cannot fix ${name}: clients write it.`);
    const value = valueGiven(text, field);
    if (value === undefined)
      throw new ImportRefused(
        `--set ${name}=${shownText(text, 64)} is not a value that the schema of ${draft.subject.id} takes.`,
      );
    draft.fix(field, value);
  }
}

function valueGiven(text: string, field: VendorField): Json | undefined {
  let parsed: Json | undefined;
  try {
    parsed = JSON.parse(text) as Json;
  } catch {
    parsed = undefined;
  }
  return [parsed, text].find((value) => value !== undefined && value !== null && isSendable(value, field));
}

// ---- the prompt

const PROMPT_NAMES = ['prompt', 'text_prompt', 'text', 'instruction', 'instructions', 'edit_instruction', 'input_text'];

interface Prompt {
  readonly field: VendorField;
  readonly maxCharacters?: number;
}

function takePrompt(draft: Draft): Prompt | undefined {
  const isText = (field: VendorField | undefined): field is VendorField =>
    field !== undefined && field.types.has('string') && field.choices === undefined && fileKind(field) === undefined;
  const named = PROMPT_NAMES.map((name) => draft.named(name)).find(isText);
  const field =
    named ??
    draft.left().find((one) => isText(one) && one.isRequired && /prompt/i.test(one.name) && !/neg/i.test(one.name));
  if (field === undefined) {
    const other = draft.named('prompt');
    if (other !== undefined) draft.drop(other, 'a prompt that is no text');
    return undefined;
  }
  draft.take(field);
  const [, words] =
    /\b(?:max(?:imum)?(?: of)?|up to|at most)\.?:? ([0-9][0-9,]{0,6}) (?:unicode )?characters?\b/i.exec(field.text) ??
    [];
  const said = words === undefined ? undefined : Number(words.replaceAll(',', ''));
  if (field.maxLength === undefined && said !== undefined && said < MAX_PROMPT_CHARACTERS)
    draft.guess(`A prompt has at most ${said} characters, by the words of ${field.name}.`);
  const most = field.maxLength ?? said;
  return {
    field,
    ...(most === undefined || most >= MAX_PROMPT_CHARACTERS || most < 1 ? {} : { maxCharacters: Math.floor(most) }),
  };
}

function takeNegativePrompt(draft: Draft): VendorField | undefined {
  const field = draft.named('negative_prompt', 'negative', 'neg_prompt', 'negative_text');
  if (field === undefined || !field.types.has('string') || field.choices !== undefined) return undefined;
  draft.take(field);
  return field;
}

/** Whether requests must have a prompt: where the schema lets it be absent, pictures must be there instead. */
function promptRule(prompt: Prompt | undefined, { requiredRoles }: ModelFiles): 'none' | 'optional' | undefined {
  if (prompt === undefined) return 'none';
  return prompt.field.isRequired || requiredRoles.length === 0 ? undefined : 'optional';
}

// ---- parts of the entry

interface Parts {
  readonly document: VendorDocument;
  readonly prompt: Prompt | undefined;
  readonly negative: VendorField | undefined;
  readonly files: ModelFiles;
}

function formatByDefault(draft: Draft, { format }: ModelOutput): string {
  if (format !== undefined) return format;
  if (draft.subject.modality === 'video') return 'mp4';
  draft.guess('The schema does not say the format of the pictures; png is taken, and what comes is looked at.');
  return 'png';
}

function settingsOf(
  draft: Draft,
  { vendor, id, price }: RecordedModel,
  parts: Parts & { readonly output: ModelOutput; readonly format: string },
): JsonObject {
  const { document, output, format, prompt, negative, files } = parts;
  const field = prompt?.field.name;
  const unitCost = vendor === 'fal' ? unitCostOf(price) : undefined;
  return {
    ...targetOf(draft, vendor, id, document),
    ...(field === undefined || field === 'prompt' ? {} : { prompt_field: field }),
    ...(negative === undefined ? {} : { negative_prompt_field: negative.name }),
    ...(files.roles.length === 0 ? {} : { references: files.references }),
    ...(files.mask === undefined ? {} : { mask: files.mask }),
    ...(draft.rules.size === 0 ? {} : { fields: Object.fromEntries(draft.rules) }),
    output: {
      media_type: `${output.modality}/${format}`,
      ...(output.at === undefined ? {} : { at: output.at }),
      ...(output.withheldAt === undefined ? {} : { withheld_at: output.withheldAt }),
    },
    ...(unitCost === undefined ? {} : { unit_cost: unitCost }),
  };
}

function targetOf(draft: Draft, vendor: string, id: string, { version, isOfficial }: VendorDocument): JsonObject {
  if (vendor === 'fal') return { endpoint: id };
  if (vendor !== 'replicate') return {};
  const model = id.split(':')[0] ?? id;
  if (isOfficial === true) return { model };
  if (version !== undefined) {
    draft.guess(`${model} is not official: version ${version.slice(0, 8)}… is pinned.`);
    return { model, version };
  }
  draft.guess(
    `The answer names no version and not whether ${model} is official; without a version only official models run.`,
  );
  return { model };
}

function entryOf(
  draft: Draft,
  { vendor, id }: RecordedModel,
  {
    document,
    prompt,
    negative,
    files,
    price,
    hints,
    settings,
  }: Parts & {
    readonly price: JsonObject;
    readonly hints: readonly string[];
    readonly settings: JsonObject;
  },
): JsonObject {
  const { modality } = draft.subject;
  const byPrice = price['unit'] === 'second' ? 'video' : 'image';
  const rule = promptRule(prompt, files);
  const description = describedWith(document, rule, files);
  const limits = limitsOf(files, negative);
  // Factors are written below the rate, which must have a name then.
  const isBare = Object.keys(price).length === 1 && hints.length === 0;
  return {
    model_key: keyOf(id),
    display_name: displayName(id, document),
    ...(modality === byPrice ? {} : { modality }),
    ...(description === '' ? {} : { description }),
    ...(rule === undefined ? {} : { prompt: rule }),
    ...(prompt?.maxCharacters === undefined ? {} : { max_prompt_characters: prompt.maxCharacters }),
    ...(files.requiredRoles.length === 0 ? {} : { required_roles: [...files.requiredRoles] }),
    ...(draft.parameters.size === 0
      ? {}
      : {
          input_schema: {
            properties: Object.fromEntries(draft.parameters),
            ...(draft.requiredParameters.length === 0 ? {} : { required: draft.requiredParameters }),
          },
        }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    price: isBare ? (price['credits_per_unit'] as Json) : price,
    provider: vendor,
    provider_settings: settings,
  };
}

/** The vendor's description, and what clients cannot see elsewhere in the public model. */
function describedWith(
  { description }: VendorDocument,
  rule: ReturnType<typeof promptRule>,
  { requiredRoles, mask }: ModelFiles,
): string {
  const needed = [...new Set(requiredRoles)].map((role) => {
    const count = requiredRoles.filter((one) => one === role).length;
    return `${count === 1 ? 'a file' : `${count} files`} of the role ${role}`;
  });
  const notes = [
    ...(rule === 'none' ? ['Takes no prompt.'] : rule === 'optional' ? ['Needs no prompt.'] : []),
    ...(needed.length === 0 ? [] : [`Needs ${needed.join(' and ')}.`]),
    ...(mask?.['required'] === true ? ['A reference_image must have transparent areas.'] : []),
  ];
  const given = description === undefined ? [] : [/[.!?…]$/.test(description) ? description : `${description}.`];
  return [...given, ...notes].join(' ');
}

function limitsOf(
  { roles, most, mediaTypes, maxFileBytes }: ModelFiles,
  negative: VendorField | undefined,
): JsonObject {
  return {
    ...(roles.length === 0 ? {} : { reference_roles: [...roles] }),
    ...(most === roles.length ? {} : { max_reference_uploads: most }),
    ...(mediaTypes === undefined ? {} : { upload_media_types: [...mediaTypes] }),
    ...(maxFileBytes === undefined || maxFileBytes >= DEFAULT_UPLOAD_BYTES ? {} : { max_upload_bytes: maxFileBytes }),
    ...(negative === undefined ? {} : { negative_prompt: true }),
  };
}

/** The id without its owner, as a key. An owner stays where a version follows it, as in `wan/v2.6`. */
export function keyOf(id: string): string {
  const path = partsOfId(id);
  const isOwned = path.length > 1 && !/^v?[0-9]/.test(path[1] ?? '');
  const key = (isOwned ? path.slice(1) : path)
    .join('-')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .slice(0, 128);
  return key === '' ? 'model' : key;
}

function partsOfId(id: string): readonly string[] {
  const path = (id.split('://').at(-1) ?? id).replace(/:[0-9a-f]{64}$/, '');
  return path.split('/').filter((part) => part !== '');
}

const TASK = /-to-|edit|remix|fill|inpaint/;

/**
 * The vendor's name for the model. Several of its models may have it: the parts of the id that it does not mention follow, and
 * the task in brackets.
 */
function displayName(id: string, { displayName: named }: VendorDocument): string {
  if (named === undefined) return capitalised(keyOf(id).replaceAll('-', ' '));
  const name = named.replace(/ API$/, '');
  const [first, ...others] = partsOfId(id).slice(id.startsWith('fal-ai/') ? 1 : 0);
  const last = others.at(-1) ?? '';
  const middle = TASK.test(last) ? others.slice(0, -1) : others;
  const isSaid = (word: string) => name.toLowerCase().includes(word.toLowerCase().replace(/^v(?=[0-9])/, ''));
  const says = (part: string) => part.split(/[-_]/).some(isSaid);
  const isBrand = first !== undefined && says(first) && middle.length > 0 && !middle.some(says);
  const full = isBrand ? `${name} ${middle.map((part) => capitalised(part.replaceAll('-', ' '))).join(' ')}` : name;
  const saysTask = /\bto (?:video|image)\b/i.test(full) || last.split(/[-_]/).every(isSaid);
  return TASK.test(last) && !saysTask ? `${full} (${last.replaceAll(/[-_]/g, ' ')})` : full;
}

function capitalised(words: string): string {
  return words.replaceAll(/(?<![^ ])[a-z]/g, (letter) => letter.toUpperCase());
}
