import type { Json, JsonObject } from '../../core/json.js';
import { formatFault } from '../../core/media/image-header.js';
import { isOfOperator } from '../providers/shared/operator-fields.js';
import { fieldRulesFault } from '../providers/shared/request-fields.js';
import { isPlainText, shownText } from './bounded-json.js';
import type { Draft } from './draft.js';
import { offerChoices } from './sizes.js';
import { defaultText, type Scalar, type VendorField } from './vendor-field.js';

const MAX_SEED = 2 ** 31 - 1;
/** Taken where a vendor states no maximum. */
const MAX_COUNT = 4;
/** The most outputs of one generation. */
const MOST_OUTPUTS = 100;

// ---- number of outputs

const COUNT_NAMES = [
  'num_images',
  'num_outputs',
  'number_of_images',
  'n',
  'num_samples',
  'num_videos',
  'batch_size',
  'image_count',
];

/** The number of outputs as `n`. Other numbers of outputs are 1: the price does not count what they would multiply. */
export function takeCount(draft: Draft): void {
  const [field, ...others] = COUNT_NAMES.map((name) => draft.named(name)).filter(
    (one): one is VendorField => one !== undefined && isNumberField(one),
  );
  if (field !== undefined && draft.subject.makesList) offerCount(draft, field);
  else if (field !== undefined) fixAtOne(draft, field);
  for (const other of others) fixAtOne(draft, other);
  // A bound that the model need not reach.
  const bound = draft.named('max_images');
  if (bound !== undefined) fixAtOne(draft, bound);
  if (draft.subject.makesList && !draft.parameters.has('n') && field === undefined && bound === undefined)
    draft.guess('The output is a list, and no field says how long it is; one result is delivered and charged.');
}

/** A field of a number, which a list may have as texts. */
function isNumberField({ types, choices }: VendorField): boolean {
  if (types.has('integer') || types.has('number')) return true;
  return choices !== undefined && choices.every((value) => /^[0-9]{1,3}$/.test(String(value)));
}

function offerCount(draft: Draft, field: VendorField): void {
  const { choices, default: byDefault } = field;
  if (choices !== undefined) {
    const counts = new Map(choices.map((value) => [Number(value), value] as const).filter(([count]) => isCount(count)));
    const listed = [...counts.keys()].toSorted((one, other) => one - other);
    const [least] = listed;
    if (least === undefined) return draft.drop(field, 'its values are no numbers of outputs');
    const known = listed.find((count) => String(counts.get(count)) === defaultText(field)) ?? least;
    const isSame = listed.every((count) => counts.get(count) === count);
    const rule: JsonObject = isSame
      ? { type: 'integer', enum: listed }
      : { values: Object.fromEntries([...counts].map(([count, value]) => [String(count), value])) };
    return draft.offer(field, 'n', { type: 'integer', enum: listed, default: known }, rule);
  }
  if (field.maximum === undefined) draft.guess(`${field.name} has no maximum in the schema; ${MAX_COUNT} is taken.`);
  const [least, most] = [
    Math.max(1, Math.ceil(field.minimum ?? 1)),
    Math.min(MOST_OUTPUTS, Math.floor(field.maximum ?? MAX_COUNT)),
  ];
  if (most < least) return draft.drop(field, 'no number of outputs is within its bounds');
  const bounds = { minimum: least, maximum: most };
  const isUsual =
    typeof byDefault === 'number' && Number.isInteger(byDefault) && byDefault >= least && byDefault <= most;
  const schema = { type: 'integer', ...bounds, default: isUsual ? byDefault : least };
  draft.offer(field, 'n', schema, { type: 'integer', ...bounds });
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MOST_OUTPUTS;
}

/** At one output, in the vendor's own form. A field that takes no 1 is left to the vendor. */
function fixAtOne(draft: Draft, field: VendorField): void {
  const one = [1, '1'].find((value) => isSendable(value, field));
  if (one === undefined) draft.drop(field, 'it does not take 1, and the price counts one output');
  else draft.fix(field, one);
}

// ---- length of a video

const DURATION_NAMES = [
  'duration',
  'duration_seconds',
  'seconds',
  'video_length',
  'video_duration',
  'total_video_length_seconds',
  'length',
  'num_seconds',
];
const FRAME_NAMES = ['num_frames', 'frames', 'number_of_frames', 'frame_count', 'video_frames'];
const RATE_NAMES = ['frames_per_second', 'fps', 'frame_rate'];
/** Frames per second of families of models whose schemas do not say it. */
const KNOWN_RATES: readonly (readonly [RegExp, number])[] = [
  [/framepack|mochi/, 30],
  [/hunyuan/, 24],
  [/wan/, 16],
  [/ltx/, 24],
  [/cogvideo/, 8],
];
const USUAL_RATE = 24;
const USUAL_SECONDS = 5;
const MOST_SECONDS = 600;

/** The length of a video in whole seconds as `duration_seconds`. */
export function takeDuration(draft: Draft): void {
  if (draft.subject.modality !== 'video') return;
  const field = draft.named(...DURATION_NAMES);
  if (field !== undefined) offerSeconds(draft, field);
  else {
    const frames = draft.named(...FRAME_NAMES);
    if (frames !== undefined) offerFrames(draft, frames);
  }
}

function offerSeconds(draft: Draft, field: VendorField): void {
  if (field.choices !== undefined) {
    const seconds = field.choices.flatMap((value) => {
      const [, number] = /^\s*([1-9][0-9]{0,2})(?:\.0+)?\s*(?:s|sec|seconds?)?\s*$/i.exec(String(value)) ?? [];
      return number === undefined ? [] : [[Number(number), value] as const];
    });
    if (seconds.length === 0) return draft.drop(field, 'its values are no whole seconds');
    return offerListedSeconds(draft, field, new Map(seconds));
  }
  if (!field.types.has('integer') && !field.types.has('number')) return;
  const least = Math.max(1, Math.ceil(field.minimum ?? 1));
  const most = Math.min(MOST_SECONDS, Math.floor(field.maximum ?? 2 * USUAL_SECONDS));
  if (field.maximum === undefined)
    draft.guess(`${field.name} has no maximum in the schema; ${most} seconds are taken.`);
  if (most < least) return draft.drop(field, 'no whole second is within its bounds');
  const bounds = { minimum: least, maximum: most };
  const byDefault = secondsByDefault(
    draft,
    field,
    Array.from({ length: most - least + 1 }, (_, index) => least + index),
    field.default,
  );
  draft.offer(
    field,
    'duration_seconds',
    { type: 'integer', ...bounds, default: byDefault },
    { type: 'integer', ...bounds },
  );
}

function offerListedSeconds(draft: Draft, field: VendorField, seconds: ReadonlyMap<number, Scalar>): void {
  const listed = [...seconds.keys()].toSorted((one, other) => one - other);
  const vendors = listed.find((one) => String(seconds.get(one)) === defaultText(field));
  const byDefault = vendors ?? secondsByDefault(draft, field, listed, undefined);
  const isSame = listed.every((one) => seconds.get(one) === one);
  const values = Object.fromEntries(listed.map((one) => [String(one), seconds.get(one) as Scalar]));
  const rule: JsonObject = isSame ? { type: 'integer', enum: listed } : { values };
  draft.offer(field, 'duration_seconds', { type: 'integer', enum: listed, default: byDefault }, rule);
}

/** The vendor's default, or the usual length where it leaves the length to the model. */
function secondsByDefault(
  draft: Draft,
  field: VendorField,
  listed: readonly number[],
  byDefault: Json | undefined,
): number {
  if (typeof byDefault === 'number' && listed.includes(byDefault)) return byDefault;
  const nearest =
    listed.toSorted((one, other) => Math.abs(one - USUAL_SECONDS) - Math.abs(other - USUAL_SECONDS))[0] ??
    USUAL_SECONDS;
  draft.guess(
    `Without a length ${nearest} seconds are made: the schema has no default of whole seconds for ${field.name}.`,
  );
  return nearest;
}

/** Frames from seconds and the rate: the constant, the default or what the words say. */
function offerFrames(draft: Draft, field: VendorField): void {
  const rate = frameRate(draft, field);
  draft.framesPerSecond = rate;
  if (field.choices !== undefined) {
    const seconds = new Map<number, Scalar>();
    for (const value of field.choices) {
      const whole = Math.max(1, Math.floor(Number(value) / rate + 0.25));
      if (/^[1-9][0-9]{0,4}$/.test(String(value)) && !seconds.has(whole)) seconds.set(whole, value);
    }
    if (seconds.size === 0) return draft.drop(field, 'its values are no numbers of frames');
    draft.guess(`The seconds are the whole ones in the listed frames at ${rate} per second.`);
    const known = [...seconds].find(([, value]) => String(value) === defaultText(field))?.[1];
    return offerListedSeconds(draft, { ...field, ...(known === undefined ? {} : { default: known }) }, seconds);
  }
  const byDefault = typeof field.default === 'number' ? field.default : undefined;
  const step = frameStep(field, byDefault);
  const plus = step.plus;
  const [minimum, maximum] = [field.minimum ?? 1, field.maximum ?? byDefault ?? USUAL_SECONDS * rate + plus];
  if (field.maximum === undefined)
    draft.guess(`${field.name} has no maximum in the schema; ${maximum} frames are taken.`);
  const [, least, most] = /\bbetween (\d{1,5}) (?:to|and) (\d{1,5})\b/i.exec(field.text) ?? [];
  const [from, to] = [Math.max(minimum, Number(least ?? 0)), Math.min(maximum, Number(most ?? Infinity))];
  const framesFor = (seconds: number) => Math.round((seconds * rate) / step.of) * step.of + plus;
  const usable = Array.from({ length: MOST_SECONDS }, (_, index) => index + 1).filter(
    (seconds) => framesFor(seconds) >= from && framesFor(seconds) <= to,
  );
  const [first, last] = [usable[0], usable.at(-1)];
  if (first === undefined || last === undefined) return draft.drop(field, 'no whole second is within its bounds');
  const nearest =
    byDefault === undefined ? undefined : usable.find((seconds) => Math.abs(framesFor(seconds) - byDefault) < rate / 2);
  const seconds = nearest ?? secondsByDefault(draft, field, usable, undefined);
  const schema = { type: 'integer', minimum: first, maximum: last, default: seconds };
  if (rate % step.of === 0)
    draft.offer(field, 'duration_seconds', schema, {
      type: 'integer',
      times: rate,
      ...(plus === 0 ? {} : { plus }),
      minimum: Math.ceil(from),
      maximum: Math.floor(to),
    });
  else
    draft.offer(field, 'duration_seconds', schema, {
      values: Object.fromEntries(usable.map((one) => [String(one), framesFor(one)])),
    });
}

/** Models that make frames in groups of four or eight take one more than whole groups. */
function frameStep(
  { text }: VendorField,
  byDefault: number | undefined,
): { readonly of: number; readonly plus: number } {
  const [, group] = /\b([48])\s?(?:k|n|x|\*\s?[kn])\s?\+\s?1\b/i.exec(text) ?? [];
  if (group !== undefined) return { of: Number(group), plus: 1 };
  return { of: 1, plus: byDefault !== undefined && byDefault > 1 && (byDefault - 1) % 4 === 0 ? 1 : 0 };
}

function frameRate(draft: Draft, frames: VendorField): number {
  const field = draft.named(...RATE_NAMES);
  const words = `${frames.text} ${field?.text ?? ''}`;
  const [, said] = /\b(\d{1,3}) ?(?:fps|frames per second)\b/i.exec(words) ?? [];
  const byDefault = Math.round(Number(field === undefined ? '' : defaultText(field)));
  if (field?.default !== undefined && byDefault >= 1 && isSendable(field.default, field)) {
    draft.fix(field, field.default);
    draft.guess(`${field.name} is fixed at ${defaultText(field)}, its default, so that seconds are known.`);
    return byDefault;
  }
  if (field !== undefined) draft.drop(field, 'the seconds are counted at one rate');
  const known = KNOWN_RATES.find(([name]) => name.test(draft.subject.id.toLowerCase()))?.[1];
  const rate = said === undefined ? (known ?? USUAL_RATE) : Number(said);
  draft.guess(
    `The length is counted in frames; ${rate} per second are taken${said === undefined ? ', which the schema does not say' : ', by its words'}.`,
  );
  return Math.max(1, rate);
}

// ---- seed, format, quality, sound

export function takeSeed(draft: Draft): void {
  const field = draft.named('seed', 'random_seed', 'noise_seed');
  if (field === undefined || field.choices !== undefined || !(field.types.has('integer') || field.types.has('number')))
    return;
  const [minimum, maximum] = [
    Math.max(0, Math.ceil(field.minimum ?? 0)),
    Math.min(MAX_SEED, Math.floor(field.maximum ?? MAX_SEED)),
  ];
  if (maximum < minimum) return draft.drop(field, 'no seed from 0 on is within its bounds');
  const bounds = { type: 'integer', minimum, maximum };
  draft.offer(field, 'seed', bounds, field.isRequired ? { ...bounds, draw: true } : bounds);
}

const FORMAT_NAMES = [
  'output_format',
  'format',
  'image_format',
  'video_output_type',
  'output_type',
  'file_format',
  'video_format',
];

/** The formats that can be delivered. Returns the one that is made unless a request says otherwise. */
export function takeFormat(draft: Draft): string | undefined {
  const { modality } = draft.subject;
  const known = modality === 'image' ? /^(?:image\/)?(png|jpe?g|webp)$/i : /(mp4)/i;
  const field = draft.named(
    ...FORMAT_NAMES.filter((name) => draft.named(name)?.choices?.some((one) => known.test(String(one))) === true),
  );
  if (field === undefined) return undefined;
  const usable = (field.choices ?? []).flatMap((value) => {
    const [, word = ''] = known.exec(String(value)) ?? [];
    const isDelivered = word !== '' && formatFault(String(value), modality) === undefined;
    return isDelivered ? [[word.toLowerCase().replace('jpg', 'jpeg'), value] as const] : [];
  });
  const values = new Map(usable);
  const byDefault = usable.find(([, value]) => value === field.default)?.[0] ?? usable[0]?.[0];
  if (byDefault === undefined) {
    draft.drop(field, 'none of its formats can be delivered');
    return undefined;
  }
  const left = (field.choices ?? []).length - usable.length;
  if (left > 0) draft.guess(`Of the formats of ${field.name} only those that can be delivered are kept.`);
  if (values.size === 1) {
    draft.fix(field, values.get(byDefault) as Scalar);
    return byDefault;
  }
  const names = [...values.keys()];
  const isSame = usable.every(([name, value]) => name === value);
  const rule: JsonObject = isSame ? { type: 'string', enum: names } : { values: Object.fromEntries(values) };
  draft.offer(field, 'output_format', { type: 'string', enum: names, default: byDefault }, rule);
  return byDefault;
}

export function takeQuality(draft: Draft): void {
  const field = draft.named('quality', 'image_quality', 'video_quality');
  if (field?.choices === undefined) return;
  offerChoices(draft, field, 'quality');
  draft.mayChangePrice(field, 'quality');
}

const AUDIO_NAMES = ['generate_audio', 'generate_audio_switch', 'enable_audio', 'with_audio', 'sound', 'audio_enabled'];

export function takeAudio(draft: Draft): void {
  const field = draft.named(...AUDIO_NAMES);
  if (field === undefined || !field.types.has('boolean')) return;
  const known = typeof field.default === 'boolean' ? { default: field.default } : {};
  draft.offer(field, 'generate_audio', { type: 'boolean', ...known }, { type: 'boolean' });
  draft.mayChangePrice(field, 'generate_audio');
}

// ---- what only the operator decides

const SAFETY_LEVEL = /(?:^|_)(?:safety|moderation|nsfw|content_filter)(?:_|$)/;

/** Puts filters on, and fixes levels where the vendor has them: they are never a parameter. */
export function takeSafety(draft: Draft): void {
  for (const field of draft.left()) {
    const name = field.name.toLowerCase();
    if (!SAFETY_LEVEL.test(name) || field.isUri) continue;
    if (field.types.has('boolean')) {
      const isOfContent = name.includes('nsfw') && !/filter|check|detect|block/.test(name);
      const isSwitchOff = isOfContent || /disable|allow|skip|bypass/.test(name);
      if (field.default === isSwitchOff)
        draft.guess(`The safety filter of ${field.name} is put on; it is off by the vendor's default.`);
      draft.fix(field, !isSwitchOff);
    } else if (field.default !== undefined && isSendable(field.default, field)) {
      draft.guess(`${field.name} is fixed at the vendor's default, ${shownText(JSON.stringify(field.default), 80)}.`);
      draft.fix(field, field.default);
    } else draft.drop(field, 'a level of the safety filter; the vendor decides it');
  }
}

const OPERATORS =
  /^(?:sync_mode|request_id|end_user_id|user_id|user|webhook.*|callback.*|.*_api_key|api_key|.*lora.*|.*_id)$/i;

/** Drops what is about the account, about where results go, and about files of weights. */
export function dropOperatorFields(draft: Draft): void {
  for (const field of draft.left()) {
    if (field.name === 'sync_mode') draft.drop({ ...field, isRequired: false }, 'results are fetched by address');
    else if (!field.isSecret && !OPERATORS.test(field.name)) continue;
    else if (field.isRequired) fillRequired(draft, field);
    else draft.drop(field, 'the operator decides it');
  }
}

// ---- everything else

const MAX_FREE_TEXT = 500;
const MAX_FREE_TEXTS = 4;
/** The rules of one request have room for 100 fields. */
const MAX_RULES = 90;
/** Names of parameters that the price and the front know by their meaning. */
const PRICED_NAMES: readonly string[] = ['n', 'size', 'duration_seconds'];

/** Takes the fields without a rule: as constants where the vendor requires a value, as parameters with `--all`, else not. */
export function takeRest(draft: Draft): void {
  let texts = 0;
  for (const field of draft.left()) {
    const isText = field.choices === undefined && field.types.has('string');
    if (isText) texts += 1;
    const isRoom = draft.rules.size < MAX_RULES;
    const isOffered = isRoom && (draft.subject.options.all || field.isRequired) && !(isText && texts > MAX_FREE_TEXTS);
    const isTaken = draft.parameters.has(field.name) || PRICED_NAMES.includes(field.name);
    const parameter = isTaken ? `vendor_${field.name}` : field.name;
    if (isOffered && offerPlain(draft, field, parameter)) continue;
    if (field.isRequired) fillRequired(draft, field);
    else
      draft.drop(
        field,
        isComposed(field)
          ? 'a list or an object'
          : draft.subject.options.all
            ? 'free text of the operator'
            : 'not offered without --all',
      );
  }
}

function isComposed({ types }: VendorField): boolean {
  return !['string', 'integer', 'number', 'boolean'].some((type) => types.has(type));
}

/** Whether the field could be offered under its own name. */
function offerPlain(draft: Draft, field: VendorField, parameter: string): boolean {
  if (field.choices !== undefined) {
    const types = new Set(field.choices.map((value) => typeof value));
    if (field.choices.length < 2 || types.size > 1) return false;
    offerChoices(draft, withoutVectors(draft, field), parameter);
    return true;
  }
  if (field.types.has('boolean')) {
    const known =
      typeof field.default === 'boolean' ? { default: field.default } : field.isRequired ? { default: false } : {};
    draft.offer(field, parameter, { type: 'boolean', ...known }, { type: 'boolean' });
    return true;
  }
  if (field.types.has('integer') || field.types.has('number')) {
    const bounds = numberBounds(draft, field);
    const type = field.types.has('number') ? 'number' : 'integer';
    const known =
      typeof field.default === 'number' &&
      isSendable(field.default, field) &&
      field.default >= bounds.minimum &&
      field.default <= bounds.maximum
        ? { default: field.default }
        : {};
    draft.offer(field, parameter, { type, ...bounds, ...known }, { type, ...bounds });
    return true;
  }
  if (!field.types.has('string') || isOfOperator(field.name) || (field.maxLength ?? 1) < 1) return false;
  const most = Math.min(MAX_FREE_TEXT, field.maxLength ?? MAX_FREE_TEXT);
  if (field.maxLength === undefined)
    draft.guess(`${field.name} has no longest text in the schema; ${most} characters are taken.`);
  draft.offer(field, parameter, { type: 'string', maxLength: most }, { type: 'string', max_length: most });
  return true;
}

/** Some styles are made as vectors, which cannot be delivered. */
function withoutVectors(draft: Draft, field: VendorField): VendorField {
  const kept = (field.choices ?? []).filter((value) => !/(?:^|[^a-z])(?:vector|svg)(?:[^a-z]|$)/i.test(String(value)));
  if (kept.length === field.choices?.length) return field;
  draft.guess(`Values of ${field.name} that make vectors are left out: pictures are delivered as PNG, JPEG or WebP.`);
  return { ...field, choices: kept };
}

function numberBounds(draft: Draft, field: VendorField): { readonly minimum: number; readonly maximum: number } {
  const usual = typeof field.default === 'number' ? Math.max(1, Math.abs(field.default) * 4) : 100;
  const isWhole = !field.types.has('number');
  const fit = (value: number) => (isWhole ? Math.round(value) : value);
  const maximum = field.maximum ?? Math.max(fit(usual), (field.minimum ?? 0) + 1);
  const lowest = field.minimum ?? Math.min(0, fit(typeof field.default === 'number' ? field.default : 0), maximum);
  if (field.minimum === undefined || field.maximum === undefined)
    draft.guess(`${field.name} has no bounds in the schema; ${lowest} to ${maximum} are taken.`);
  const minimum = field.isOpenBelow ? Math.min(maximum, Number((lowest + 0.01).toFixed(6))) : lowest;
  return { minimum, maximum };
}

/** A constant for a field that the vendor requires: its default, its only value, or nothing in a list. */
function fillRequired(draft: Draft, field: VendorField): void {
  const { default: byDefault, choices, types, minItems = 0 } = field;
  const value: Json | undefined =
    byDefault !== undefined && isSendable(byDefault, field)
      ? byDefault
      : choices?.length === 1
        ? choices[0]
        : types.has('array') && minItems === 0
          ? []
          : isLeftEmpty(draft, field)
            ? ''
            : undefined;
  if (value === undefined) return draft.drop(field, 'no rule knows it');
  draft.guess(`${field.name} is required; ${shownText(JSON.stringify(value), 80)} is sent with every request.`);
  draft.fix(field, value);
}

/** The generator of Cog names a text required whose default is None: there the empty text means nothing. */
function isLeftEmpty({ subject: { vendor } }: Draft, { name, types, choices }: VendorField): boolean {
  return vendor !== 'fal' && types.has('string') && choices === undefined && /lora|weights/i.test(name);
}

/** Whether the vendor's own schema takes the value; a default may have another type than its field. */
export function isSendable(
  value: Json,
  { types, choices, minimum = -Infinity, maximum = Infinity }: VendorField,
): boolean {
  if (choices !== undefined) return choices.some((choice) => choice === value);
  if (typeof value === 'number')
    return (
      value >= minimum && value <= maximum && (types.has('number') || (types.has('integer') && Number.isInteger(value)))
    );
  if (typeof value === 'string') return types.has('string') && isPlainText(value);
  if (typeof value !== 'object') return types.has(typeof value);
  const isFitting = types.has(Array.isArray(value) ? 'array' : 'object') && isPlainText(JSON.stringify(value));
  return isFitting && fieldRulesFault({ constant: { value } }) === undefined;
}
