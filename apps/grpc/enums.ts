import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { PRICE_UNITS, type PriceUnit as CoreUnit } from '../../core/catalog/price.js';
import { fieldInvalid } from '../../core/fields.js';
import { EVENT_TYPES } from '../../core/generation/events.js';
import { MODALITIES, OPERATIONS, REFERENCE_ROLES, STATUSES } from '../../core/generation/generation.js';
import { UPLOAD_STATES } from '../../core/uploads/manage-uploads.js';
import { PriceUnit } from './generated/darkroom/v1/catalog_pb.js';
import { GenerationEventType, GenerationStatus } from './generated/darkroom/v1/generations_pb.js';
import { Modality, Operation, ReferenceRole } from './generated/darkroom/v1/media_pb.js';
import { UploadState } from './generated/darkroom/v1/uploads_pb.js';

/** The name of a value of an enum, such as GENERATION_RUNNING for `generation.running`. */
type ValueName<Word extends string> = Uppercase<
  Word extends `${infer Before}.${infer After}` ? `${Before}_${After}` : Word
>;

/** The values of an enum of the proto files by core's words. A word that the enum lacks does not compile. */
export function valuesByWord<Word extends string, Values extends Readonly<Record<ValueName<Word>, number>>>(
  words: readonly Word[],
  values: Values,
): Readonly<Record<Word, Values[ValueName<Word>]>> {
  const nameOf = (word: Word) => word.toUpperCase().replace('.', '_') as ValueName<Word>;
  return Object.fromEntries(words.map((word) => [word, values[nameOf(word)]])) as Record<Word, Values[ValueName<Word>]>;
}

export const STATUS = valuesByWord(STATUSES, GenerationStatus);
export const MODALITY = valuesByWord(MODALITIES, Modality);
export const OPERATION = valuesByWord(OPERATIONS, Operation);
export const ROLE = valuesByWord(REFERENCE_ROLES, ReferenceRole);
export const PRICE_UNIT = valuesByWord(Object.keys(PRICE_UNITS) as CoreUnit[], PriceUnit);
export const EVENT_TYPE = valuesByWord(EVENT_TYPES, GenerationEventType);
export const UPLOAD_STATE = valuesByWord(UPLOAD_STATES, UploadState);

/**
 * Core's word for a number of a request: undefined for UNSPECIFIED, which is what a field that was not sent reads as.
 * An unknown number becomes a word that core refuses, as it would over any other front.
 */
export function wordOf(numbers: Readonly<Record<string, number>>, value: number): string | undefined {
  if (value === 0) return undefined;
  return Object.keys(numbers).find((word) => numbers[word] === value) ?? `unknown (${value})`;
}

type Int64<Value> = Value extends number ? bigint : Value;

/** The numbers of a record, which must be whole, as int64 fields have them. */
export function int64s<Numbers extends object>(
  record: Numbers,
): { readonly [Name in keyof Numbers]: Int64<Numbers[Name]> } {
  const fields = Object.entries(record).map(([name, value]) => [
    name,
    typeof value === 'number' ? BigInt(value) : value,
  ]);
  return Object.fromEntries(fields) as ReturnType<typeof int64s<Numbers>>;
}

interface SecondsAndNanos {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** A Timestamp of milliseconds since the epoch; undefined for an absent time. */
export function timestamp(epochMs: number | undefined): SecondsAndNanos | undefined {
  if (epochMs === undefined) return undefined;
  const seconds = Math.floor(epochMs / 1_000);
  return { seconds: BigInt(seconds), nanos: (epochMs - seconds * 1_000) * 1_000_000 };
}

/** A Duration of milliseconds, 0 or more; undefined for an absent one. */
export function duration(ms: number | undefined): SecondsAndNanos | undefined {
  return timestamp(ms);
}

/** 0001-01-01T00:00:00Z, the earliest valid Timestamp; core refuses a time that is too late. */
const FIRST_SECOND = -62_135_596_800n;

/**
 * The first millisecond since the epoch that is not before the timestamp. Throws FIELD_INVALID for an invalid time.
 */
export function readTimestamp({ seconds, nanos }: Timestamp, field: string): number {
  if (seconds < FIRST_SECOND || nanos < 0 || nanos > 999_999_999)
    throw fieldInvalid(`/${field}`, `${field} must be a time from the year 1 on.`);
  return Number(seconds) * 1_000 + Math.ceil(nanos / 1_000_000);
}
