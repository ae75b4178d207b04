import { type Json, type JsonObject, memberOf } from '../../core/json.js';
import { MAX_REFERENCE_UPLOADS } from '../../core/generation/quote.js';
import { PRESETS } from '../providers/openai/presets.js';
import type { FieldRule } from '../providers/shared/request-fields.js';
import { shownText } from './bounded-json.js';
import { Draft } from './draft.js';
import { priceHints, priceOf } from './prices.js';
import { type ImportOptions, ImportRefused, type Proposal, type RecordedModel } from './proposal.js';

/** A model that ends within so many days is not offered any more. */
const DAYS_LEFT = 14;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Sizes of the Images API. `gpt-image-2` and later ones take others, in multiples of 16. */
const SIZES = ['1024x1024', '1536x1024', '1024x1536'];
const QUALITIES = ['low', 'medium', 'high'];

/**
 * A model of OpenAI, from `GET /v1/models/{id}`. Its answer says that the model exists and when it ends; the request is the
 * one that the provider kind `openai` makes. Throws `ImportRefused`.
 */
export function proposeOpenaiModel(recorded: RecordedModel, options: ImportOptions): Proposal {
  const { id, document } = recorded;
  const shown = shownText(id, 100);
  if (memberOf(document, 'id') !== id)
    throw new ImportRefused(`The answer is not about ${shown}: OpenAI has no such model, or it is about another one.`);
  if (/^(?:dall-e|sora)/.test(id)) throw new ImportRefused(`OpenAI has ended ${shown}.`);
  if (!/^(?:gpt-image|chatgpt-image)/.test(id))
    throw new ImportRefused(`${shown} does not make pictures: the models of the Images API begin with gpt-image.`);
  const draft = new Draft(
    { vendor: 'openai', id: shown, modality: 'image', makesList: true, needsNothing: false, options },
    [],
  );
  sayEnd(draft, memberOf(document, 'shutdown_date'), options.today);
  const [fixed] = Object.keys(options.set);
  if (fixed !== undefined)
    throw new ImportRefused(`--set ${shownText(fixed, 64)} has no use here: OpenAI publishes no fields of ${shown}.`);
  const preset = PRESETS.openai.sync;
  if (preset === undefined) throw new Error('The preset openai has no Images API.');
  draft.parameters.set('size', { type: 'string', enum: SIZES, default: SIZES[0] ?? '' });
  draft.parameters.set('n', { type: 'integer', ...boundsOf(preset.fields['n']), default: 1 });
  draft.parameters.set('quality', { type: 'string', enum: QUALITIES, default: 'medium' });
  draft.parameters.set('output_format', {
    type: 'string',
    enum: [...(preset.fields['output_format']?.enum ?? [])] as Json[],
    default: 'png',
  });
  if (options.all) {
    draft.parameters.set('background', {
      type: 'string',
      enum: [...(preset.fields['background']?.enum ?? [])] as Json[],
    });
    draft.parameters.set('output_compression', { type: 'integer', ...boundsOf(preset.fields['output_compression']) });
  }
  draft.priced.set('quality', 'tokens, more of them for a higher quality and a larger size');
  draft.guess('OpenAI publishes no schema of a model: the sizes and qualities are those of GPT Image.');
  const price = { ...priceOf(draft, recorded) };
  return {
    entry: {
      model_key: keyOfModel(id),
      display_name: id,
      input_schema: { properties: Object.fromEntries(draft.parameters) },
      limits: {
        reference_roles: ['reference_image'],
        max_reference_uploads: Math.min(MAX_REFERENCE_UPLOADS, preset.references.max),
      },
      price,
      provider: 'openai',
      provider_settings: { model: id },
    },
    guesses: draft.guesses,
    dropped: [],
    hints: priceHints(draft, price),
    vendorInput: inputOf(preset.fields),
  };
}

function sayEnd(draft: Draft, date: Json | undefined, today: string): void {
  if (typeof date !== 'string') return;
  const ends = /^\d{4}-\d{2}-\d{2}$/.test(date) ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(ends)) throw new ImportRefused('The day on which OpenAI ends the model cannot be read.');
  const left = (ends - Date.parse(today)) / DAY_MS;
  if (left <= 0) throw new ImportRefused(`OpenAI ended this model on ${date}.`);
  if (left <= DAYS_LEFT) throw new ImportRefused(`OpenAI ends this model on ${date}.`);
  draft.guess(`OpenAI ends this model on ${date}.`);
}

function boundsOf(rule: FieldRule | undefined): JsonObject {
  return { minimum: rule?.minimum ?? 0, maximum: rule?.maximum ?? 100 };
}

function keyOfModel(id: string): string {
  return id
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .slice(0, 128);
}

/** The schema of the values that the rules of the preset accept. */
function inputOf(fields: Readonly<Record<string, FieldRule>>): JsonObject {
  const properties = Object.entries(fields).map(([name, rule]) => [name, schemaOf(rule)] as const);
  return {
    type: 'object',
    additionalProperties: false,
    required: ['prompt'],
    properties: { prompt: { type: 'string' }, ...Object.fromEntries(properties) },
  };
}

function schemaOf({ type = 'string', enum: listed, minimum, maximum, pattern }: FieldRule): JsonObject {
  return {
    type,
    ...(listed === undefined ? {} : { enum: [...listed] as Json[] }),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...(pattern === undefined ? {} : { pattern: `^(?:${pattern})$` }),
  };
}
