import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { fieldInvalid } from '../../core/fields.js';

/** 0001-01-01T00:00:00Z, the first that a Timestamp may be; what is too late is core's to say. */
const FIRST_SECOND = -62_135_596_800n;

/** The first millisecond since the epoch that is not before it. Throws FIELD_INVALID for what is no time. */
export function readTimestamp({ seconds, nanos }: Timestamp, field: string): number {
  if (seconds < FIRST_SECOND || nanos < 0 || nanos > 999_999_999)
    throw fieldInvalid(`/${field}`, `${field} must be a time from the year 1 on.`);
  return Number(seconds) * 1_000 + Math.ceil(nanos / 1_000_000);
}
