import type { Json, JsonObject } from '../../core/json.js';
import type { Draft } from './draft.js';
import { defaultText, type Scalar, type VendorField } from './vendor-field.js';

/** Widths and heights that are offered where a vendor takes any within bounds; the first that fits is the default. */
const COMMON_SIZES: Readonly<Record<'image' | 'video', readonly (readonly [number, number])[]>> = {
  image: [
    [1024, 1024],
    [1024, 768],
    [768, 1024],
    [1024, 576],
    [576, 1024],
    [1280, 720],
    [720, 1280],
    [512, 512],
    [2048, 2048],
    [2560, 1920],
    [1920, 2560],
    [3840, 2160],
    [2160, 3840],
    [4096, 4096],
  ],
  video: [
    [1280, 720],
    [720, 1280],
    [832, 480],
    [480, 832],
    [1024, 576],
    [576, 1024],
    [768, 768],
    [1920, 1080],
    [1080, 1920],
  ],
};
/** Larger sizes are offered only where no smaller one fits: what the schema allows is often more than the model can do. */
const USUAL_SIDE = 2_048;
const MAX_SIZES = 8;
/** The most values of one list. */
const MAX_CHOICES = 200;
/** Taken where a vendor states no smallest side. */
const LEAST_SIDE = 64;

/** The pixels of fal's names of sizes. Seedream and some other models use larger ones. */
const FAL_PRESETS: Readonly<Record<string, string>> = {
  square_hd: '1024x1024',
  square: '512x512',
  portrait_4_3: '768x1024',
  portrait_16_9: '576x1024',
  landscape_4_3: '1024x768',
  landscape_16_9: '1024x576',
};

const SIZE_NAMES = ['image_size', 'size', 'video_size', 'output_size', 'resolution', 'dimensions', 'image_dimensions'];
const LISTED_SIZE = /^\s*([1-9][0-9]{1,4})\s*([x*×])\s*([1-9][0-9]{1,4})\s*$/i;
/** Values that leave the choice to the model, or to other fields. */
const OPEN_VALUES = /^(?:custom|not set|none)$/i;

const ANY_SIDES = { minimum: 1, maximum: 65_536, multipleOf: 1 };

export interface Sides {
  readonly minimum: number;
  readonly maximum: number;
  readonly multipleOf: number;
  /** All values, where the vendor lists them. */
  readonly listed?: readonly number[];
}

/**
 * Takes the fields of a size, or of an aspect ratio and a resolution. Without a default of the vendor, a model
 * that works on pictures keeps their size unless a request states one.
 */
export function takeSizes(draft: Draft, worksOnPictures: boolean): void {
  takeSize(draft, worksOnPictures);
  if (!draft.parameters.has('size')) takeWidthAndHeight(draft);
  takeRatio(draft);
  takeResolution(draft);
  for (const name of ['width', 'height']) {
    const field = draft.named(name);
    if (field !== undefined && !field.isRequired)
      draft.drop(field, 'counts only where the aspect ratio leaves the size open');
  }
}

function takeSize(draft: Draft, worksOnPictures: boolean): void {
  for (const name of SIZE_NAMES) {
    const field = draft.named(name);
    if (field === undefined) continue;
    if (field.sides !== undefined) return offerAnySize(draft, field, field.sides, worksOnPictures);
    const listed = (field.choices ?? []).filter((value) => LISTED_SIZE.test(String(value)));
    if (listed.length > 0) return offerListedSizes(draft, field, listed);
    const [, , separator] = field.choices === undefined ? (LISTED_SIZE.exec(defaultText(field)) ?? []) : [];
    if (separator !== undefined)
      return offerAnySize(draft, field, { minimum: 1, maximum: USUAL_SIDE }, worksOnPictures, `{w}${separator}{h}`);
    if (field.choices?.every((value) => Object.hasOwn(FAL_PRESETS, String(value)) || value === 'auto') === true)
      return offerPresets(draft, field);
  }
}

/** An object of width and height, or a text of both. */
function offerAnySize(
  draft: Draft,
  field: VendorField,
  bounds: { readonly minimum: number; readonly maximum: number },
  worksOnPictures: boolean,
  as = 'object',
): void {
  const sides = sidesOf(bounds, field.text);
  const byDefault = defaultSize(field);
  const sizes = sizesWithin(draft, sides, byDefault);
  const isLeftToModel =
    field.default === 'auto' ||
    (worksOnPictures && field.default === undefined) ||
    /\b(?:uses?|match\w*) (?:the )?input/i.test(field.text);
  draft.guess(`The sizes are common ones within the bounds of ${field.name}; the vendor takes others too.`);
  offerSize(draft, field, sizes, isLeftToModel ? undefined : (byDefault ?? sizes[0]));
  draft.rules.set(field.name, { parameter: 'size', size: as, ...boundsOf(sides) });
}

function offerSize(draft: Draft, field: VendorField, sizes: readonly string[], byDefault: string | undefined): void {
  const known = byDefault !== undefined && sizes.includes(byDefault) ? { default: byDefault } : {};
  draft.offer(field, 'size', { type: 'string', enum: [...sizes], ...known }, {});
}

/** The size that the vendor makes when none is sent, as far as the schema says it. */
function defaultSize({ default: value }: VendorField): string | undefined {
  if (typeof value === 'string') {
    if (Object.hasOwn(FAL_PRESETS, value)) return FAL_PRESETS[value];
    const [, width, , height] = LISTED_SIZE.exec(value) ?? [];
    return width === undefined ? undefined : `${width}x${height}`;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { width, height } = value;
  return isSide(width, ANY_SIDES) && isSide(height, ANY_SIDES) ? `${width}x${height}` : undefined;
}

/** The bounds of a side, narrowed by what the words of the field say. */
function sidesOf({ minimum, maximum }: { readonly minimum: number; readonly maximum: number }, text: string): Sides {
  const [, least, most] = /\bbetween (\d{2,5})(?: ?px| pixels)? and (\d{2,5})\b/i.exec(text) ?? [];
  const [, multiple] = /\b(?:multiples? of|divisible by) (\d{1,3})\b/i.exec(text) ?? [];
  return {
    minimum: Math.max(minimum, Number(least ?? 1)),
    maximum: Math.min(maximum, Number(most ?? Infinity)),
    multipleOf: Math.max(1, Number(multiple ?? 1)),
  };
}

function boundsOf({ minimum, maximum, multipleOf }: Sides): JsonObject {
  return {
    ...(minimum > 1 ? { minimum } : {}),
    ...(Number.isFinite(maximum) ? { maximum } : {}),
    ...(multipleOf > 1 ? { multiple_of: multipleOf } : {}),
  };
}

function sizesWithin(draft: Draft, width: Sides, byDefault: string | undefined, height = width): readonly string[] {
  const fits = (side: number, { minimum, maximum, multipleOf, listed }: Sides) =>
    side >= minimum && side <= maximum && side % multipleOf === 0 && listed?.includes(side) !== false;
  const fitting = COMMON_SIZES[draft.subject.modality].filter(([w, h]) => fits(w, width) && fits(h, height));
  const usual = fitting.filter(([w, h]) => w <= USUAL_SIDE && h <= USUAL_SIDE && w * h < USUAL_SIDE * USUAL_SIDE);
  const names = (usual.length > 0 ? usual : fitting).map(([w, h]) => `${w}x${h}`);
  const withDefault = byDefault === undefined || names.includes(byDefault) ? names : [byDefault, ...names];
  if (withDefault.length > 0) return withDefault.slice(0, MAX_SIZES);
  const side = (bounds: Sides) => Math.ceil(bounds.minimum / bounds.multipleOf) * bounds.multipleOf;
  return [`${side(width)}x${side(height)}`];
}

/** A list of texts such as `1024x1024` or `1024*1024`. */
function offerListedSizes(draft: Draft, field: VendorField, listed: readonly Scalar[]): void {
  const named = listed.slice(0, MAX_CHOICES).map((value) => {
    const [, width, , height] = LISTED_SIZE.exec(String(value)) ?? [];
    return [`${width}x${height}`, value] as const;
  });
  const values = Object.fromEntries(named);
  const sizes = Object.keys(values);
  const isSame = named.every(([name, value]) => name === value);
  offerSize(
    draft,
    field,
    sizes,
    sizes.find((name) => values[name] === field.default),
  );
  const rule = isSame ? { type: 'string', enum: sizes } : { values };
  if (draft.rules.has(field.name)) draft.rules.set(field.name, { parameter: 'size', ...rule });
}

/** Names of sizes without an object beside them: their pixels are those that fal documents. */
function offerPresets(draft: Draft, field: VendorField): void {
  const presets = (field.choices ?? []).filter((value) => Object.hasOwn(FAL_PRESETS, String(value)));
  if (presets.length === 0) return;
  const values = Object.fromEntries(presets.map((preset) => [FAL_PRESETS[String(preset)] ?? '', preset]));
  draft.guess(`The sizes are what fal means by the names of ${field.name}; the model may make others of them.`);
  offerSize(draft, field, Object.keys(values), defaultSize(field));
  if (draft.rules.has(field.name)) draft.rules.set(field.name, { parameter: 'size', values });
}

function takeWidthAndHeight(draft: Draft): void {
  const [width, height] = [draft.named('width', 'image_width'), draft.named('height', 'image_height')];
  if (width === undefined || height === undefined || !isNumber(width) || !isNumber(height)) return;
  // Beside an aspect ratio they count only for its value `custom`.
  const isOptional = !width.isRequired && !height.isRequired;
  if (isOptional && (draft.named('aspect_ratio', 'ratio') !== undefined || /\bonly used when\b/i.test(width.text)))
    return;
  for (const field of [width, height])
    if (field.maximum === undefined && field.choices === undefined)
      draft.guess(`${field.name} has no bounds in the schema; ${USUAL_SIDE} is taken as the largest.`);
  const [across, down] = [sideOf(width), sideOf(height)];
  const [wide, high] = [width.default, height.default];
  const byDefault = isSide(wide, across) && isSide(high, down) ? `${wide}x${high}` : undefined;
  const sizes = sizesWithin(draft, across, byDefault, down);
  draft.guess('The sizes are common ones within the bounds of width and height; the vendor takes others too.');
  offerSize(draft, width, sizes, byDefault ?? sizes[0]);
  draft.take(height);
  draft.rules.set(width.name, { parameter: 'size', size: 'width', ...boundsOf(across) });
  draft.rules.set(height.name, { parameter: 'size', size: 'height', ...boundsOf(down) });
}

function isSide(value: Json | undefined, { minimum, maximum }: Sides): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum;
}

function isNumber({ types }: VendorField): boolean {
  return types.has('integer') || types.has('number');
}

/** The bounds of a side that is a field of its own; from a list of values, its ends and their step. */
function sideOf({ choices, minimum = LEAST_SIDE, maximum = USUAL_SIDE, multipleOf = 1, text }: VendorField): Sides {
  const listed = (choices ?? []).filter((value) => typeof value === 'number');
  if (listed.length === 0) {
    const said = sidesOf({ minimum, maximum }, text);
    return { ...said, multipleOf: Math.max(said.multipleOf, Math.round(multipleOf)) };
  }
  const step = listed.reduce((one, other) => commonDivisor(one, other));
  return { minimum: Math.min(...listed), maximum: Math.max(...listed), multipleOf: Math.max(1, step), listed };
}

function commonDivisor(one: number, other: number): number {
  return other === 0 ? one : commonDivisor(other, one % other);
}

function takeRatio(draft: Draft): void {
  const field = draft.named('aspect_ratio', 'ratio', 'video_aspect_ratio');
  if (field === undefined) return;
  if (field.choices === undefined) {
    if (!field.types.has('string')) return;
    const ratios = ['16:9', '9:16', '1:1', '4:3', '3:4'];
    draft.guess(`The aspect ratios of ${field.name} are common ones: the schema lists none.`);
    const known = ratios.includes(defaultText(field)) ? { default: field.default ?? null } : {};
    draft.offer(field, 'aspect_ratio', { type: 'string', enum: ratios, ...known }, { type: 'string', enum: ratios });
    return;
  }
  offerChoices(draft, field, 'aspect_ratio');
}

const RESOLUTION_NAMES = [
  'resolution',
  'video_resolution',
  'output_resolution',
  'image_resolution',
  'megapixels',
  'size',
  'image_size',
];

function takeResolution(draft: Draft): void {
  const field = draft.named(...RESOLUTION_NAMES.filter((name) => draft.named(name)?.choices !== undefined));
  if (field === undefined) return;
  offerChoices(draft, field, 'resolution');
  draft.mayChangePrice(field, 'resolution');
}

/** A list of values as a parameter; one alone is left to the vendor. */
export function offerChoices(draft: Draft, field: VendorField, parameter: string): void {
  const usable = (field.choices ?? []).filter((value) => !OPEN_VALUES.test(String(value)));
  const types = new Set(usable.map((value) => typeof value));
  if (usable.length > MAX_CHOICES) return draft.drop(field, 'too many values');
  if (usable.length < 2 || types.size !== 1) {
    if (field.isRequired && usable[0] !== undefined) draft.fix(field, usable[0]);
    else draft.drop(field, 'one value only');
    return;
  }
  const type = types.has('string')
    ? 'string'
    : types.has('boolean')
      ? 'boolean'
      : usable.every(Number.isInteger)
        ? 'integer'
        : 'number';
  const known = usable.find((value) => String(value) === defaultText(field));
  const schema = { type, enum: [...usable], ...(known === undefined ? {} : { default: known }) };
  draft.offer(field, parameter, schema, { type, enum: [...usable] });
}
