import type { MessageInitShape } from '@bufbuild/protobuf';
import type { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';

/** Milliseconds since the epoch. */
export function timestamp(epochMs: number): MessageInitShape<typeof TimestampSchema> {
  return secondsAndNanos(epochMs);
}

/** Milliseconds, 0 or more. */
export function duration(ms: number): MessageInitShape<typeof DurationSchema> {
  return secondsAndNanos(ms);
}

function secondsAndNanos(ms: number): { readonly seconds: bigint; readonly nanos: number } {
  const seconds = Math.floor(ms / 1_000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1_000) * 1_000_000 };
}
