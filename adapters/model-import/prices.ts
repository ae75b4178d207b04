import type { JsonObject } from '../../core/json.js';
import { shownText } from './bounded-json.js';
import type { Draft } from './draft.js';
import { ImportRefused, type RecordedModel, type VendorPrice } from './proposal.js';

const PLACES = 6;
const DECIMAL = /^([0-9]{1,12})(?:\.([0-9]{1,12}))?$/;

type Unit = 'image' | 'megapixel' | 'second' | 'video';

/** The units of fal whose quantity is known before the task is made. */
const KNOWN_UNITS: readonly Unit[] = ['image', 'megapixel', 'second', 'video'];

/**
 * The price of the entry: as the operator gives it, or the vendor's times the credits for a dollar and the markup, exactly,
 * rounded up at six places. Throws `ImportRefused` where neither is known: a price is never invented.
 */
export function priceOf(draft: Draft, { vendor, price, missingKey }: RecordedModel): JsonObject {
  const { id, options } = draft.subject;
  const unit = unitOf(draft, price);
  if (options.price !== undefined) return termsOf(draft, unit.known ?? unit.natural, creditsGiven(options.price));
  if (price === undefined && missingKey !== undefined)
    throw new ImportRefused(
      `${VENDOR_NAMES[vendor]} tells its prices only to a key, and none is set: set ${missingKey}, or give --price with the credits per ${unit.natural}.`,
    );
  if (price === undefined)
    throw new ImportRefused(
      `${VENDOR_NAMES[vendor]} states no price for ${shownText(id, 100)} in its answer: give --price with the credits per ${unit.known ?? unit.natural}.`,
    );
  if (unit.known === undefined)
    throw new ImportRefused(
      `${VENDOR_NAMES[vendor]} charges ${shownText(id, 100)} by ${shownText(price.unit, 40)}, whose number per task is not known beforehand: give --price with the credits per ${unit.natural}.`,
    );
  if (price.currency.toUpperCase() !== 'USD')
    throw new ImportRefused(
      `The price of ${shownText(id, 100)} is in ${shownText(price.currency, 10)}: give --price with the credits per ${unit.known}.`,
    );
  const credits = product(price.unitPrice, plain(options.dollarCredits), plain(options.markup));
  if (credits === undefined)
    throw new ImportRefused(
      `The price of ${shownText(id, 100)} is no usable number: give --price with the credits per ${unit.known}.`,
    );
  return termsOf(draft, unit.known, credits);
}

const VENDOR_NAMES = { fal: 'fal', replicate: 'Replicate', cog: 'A container of Cog', openai: 'OpenAI' } as const;

/** The operator's cost of one billable unit, in the form of fal's settings. */
export function unitCostOf(price: VendorPrice | undefined): JsonObject | undefined {
  const isUsable = price !== undefined && DECIMAL.test(price.unitPrice) && /^[A-Z]{3}$/.test(price.currency);
  return isUsable ? { amount: price.unitPrice, currency: price.currency } : undefined;
}

/** The unit of the vendor where its number is known beforehand, and the one that fits the model otherwise. */
function unitOf(
  { subject: { modality }, parameters, framesPerSecond }: Draft,
  price: VendorPrice | undefined,
): { readonly known?: Unit; readonly natural: Unit } {
  const hasSeconds = parameters.has('duration_seconds');
  const natural = modality === 'image' ? 'image' : hasSeconds ? 'second' : 'video';
  const named = price?.unit.trim().toLowerCase().replace(/s$/, '');
  const unit = KNOWN_UNITS.find((one) => one === named);
  const isKnown =
    (unit === 'image' && modality === 'image') ||
    (unit === 'video' && modality === 'video') ||
    (unit === 'second' && modality === 'video' && hasSeconds) ||
    (unit === 'megapixel' &&
      parameters.has('size') &&
      (modality === 'image' || (hasSeconds && framesPerSecond !== undefined)));
  return unit !== undefined && isKnown ? { known: unit, natural } : { natural };
}

/** fal states the price of one megapixel for a picture of 1024x1024; the megapixels of its videos have 1,000,000 pixels. */
const PIXELS_OF_A_SQUARE = 1_024 * 1_024;

function termsOf(draft: Draft, unit: Unit, credits: string): JsonObject {
  const { parameters, subject, framesPerSecond } = draft;
  const countsFrames = unit === 'megapixel' && subject.modality === 'video' && framesPerSecond !== undefined;
  if (unit === 'megapixel') {
    needDefaultSize(draft);
    draft.guess(
      countsFrames
        ? 'The megapixels of each video are rounded up to whole ones, of 1,000,000 pixels each.'
        : 'A picture of 1024x1024 counts as one megapixel, and larger ones are rounded up to whole megapixels.',
    );
  }
  return {
    ...(unit === subject.modality ? {} : { unit }),
    credits_per_unit: exact(credits),
    ...(unit === 'megapixel' ? { round_up: true } : {}),
    ...(unit === 'megapixel' && !countsFrames ? { pixels_per_megapixel: PIXELS_OF_A_SQUARE } : {}),
    ...(countsFrames ? { frames_per_second: framesPerSecond } : {}),
    ...(parameters.has('n') ? { count_parameter: 'n' } : {}),
    ...(parameters.get('size')?.['default'] === undefined ? {} : { size_parameter: 'size' }),
    ...(parameters.get('duration_seconds')?.['default'] === undefined
      ? {}
      : { duration_parameter: 'duration_seconds' }),
  };
}

/** The megapixels of a task are known only if it always has a size. */
function needDefaultSize(draft: Draft): void {
  const size = draft.parameters.get('size');
  if (size === undefined || size['default'] !== undefined) return;
  const [first] = size['enum'] as string[];
  draft.parameters.set('size', { ...size, default: first ?? '' });
  draft.guess(`Without a size ${first} is made, so that the megapixels are known; the vendor would choose one.`);
}

/**
 * Lines of YAML below the price that an operator may complete: factors for parameters that may change what the vendor charges.
 * With all factors at 1 they change nothing.
 */
export function priceHints({ parameters, priced, subject }: Draft, price: JsonObject): string[] {
  const counted = countedByUnit(price);
  const may = new Map(priced);
  const isPerVideo = subject.modality === 'video' && !counted.includes('duration_seconds');
  if (isPerVideo && parameters.has('duration_seconds') && !may.has('duration_seconds')) may.set('duration_seconds', '');
  const lines: string[] = [];
  for (const [parameter, words] of may) {
    if (words !== '') lines.push(`  # The vendor says of ${parameter}: ${words}`);
    const values = valuesOf(parameters.get(parameter));
    if (values.length < 2 || counted.includes(parameter)) continue;
    lines.push(
      `  - { parameter: ${parameter}, values: { ${values.map((value) => `${JSON.stringify(value)}: 1`).join(', ')} } }`,
    );
  }
  return lines.some((line) => line.startsWith('  - ')) ? ['multipliers:', ...lines] : [];
}

/** Parameters that the number of units follows: a factor for one of them would charge it twice. */
function countedByUnit({ unit, frames_per_second: frameRate }: JsonObject): readonly string[] {
  return [
    'n',
    ...(unit === 'megapixel' ? ['size'] : []),
    ...(unit === 'second' || frameRate !== undefined ? ['duration_seconds'] : []),
  ];
}

const MOST_HINTED = 12;

function valuesOf(schema: JsonObject | undefined): string[] {
  if (schema?.['type'] === 'boolean') return ['false', 'true'];
  const listed = Array.isArray(schema?.['enum']) ? schema['enum'] : [];
  return listed.length > MOST_HINTED
    ? []
    : listed.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
}

// ---- decimals

function creditsGiven(text: string): string {
  const [, whole, fraction = ''] = DECIMAL.exec(text) ?? [];
  if (whole === undefined || fraction.length > PLACES || Number(text) === 0)
    throw new ImportRefused(`--price must be a decimal number above 0 with at most ${PLACES} places.`);
  return text;
}

/** A number of the options as a decimal: neither in exponents nor with more places than it was written with. */
function plain(value: number): string {
  if (!Number.isFinite(value) || value <= 0) throw new ImportRefused('--dollar-credits and --markup must be above 0.');
  return String(value);
}

/** The product of decimals, rounded up at six places; undefined unless all are above 0 and it is within bounds. */
export function product(...factors: readonly string[]): string | undefined {
  let digits = 1n;
  let places = 0;
  for (const factor of factors) {
    const [, whole, fraction = ''] = DECIMAL.exec(factor) ?? [];
    if (whole === undefined) return undefined;
    digits *= BigInt(whole + fraction);
    places += fraction.length;
  }
  const scale = 10n ** BigInt(Math.max(0, places - PLACES));
  const micro = places > PLACES ? (digits + scale - 1n) / scale : digits * 10n ** BigInt(PLACES - places);
  if (micro <= 0n || micro > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
  const text = micro.toString().padStart(PLACES + 1, '0');
  return `${text.slice(0, -PLACES)}.${text.slice(-PLACES)}`.replace(/\.?0+$/, '');
}

/** Returns a number where YAML shows it with the same digits, else the text. */
function exact(decimal: string): number | string {
  return String(Number(decimal)) === decimal ? Number(decimal) : decimal;
}
