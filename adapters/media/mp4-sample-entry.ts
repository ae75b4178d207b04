import { type Layout, SAMPLE_ENTRIES } from './cleaning/mp4-layout.js';
import type { Box } from './mp4-box.js';

/** What an `stsd` box has before its sample entries: its version, and their number. */
export const STSD_BYTES = 8;

const VIDEO_FIELDS_BYTES = 78;
const AUDIO_FIELDS_BYTES = 28;
const AUDIO_VERSION_AT = 8;
/** QuickTime's versions of an entry for sound have more fields, in an `stsd` box of version 0. */
const QUICKTIME_FIELDS_BYTES: Readonly<Record<number, number>> = { 1: 16, 2: 36 };

/** The boxes of a sample entry for pictures or sound, and how many bytes of its content come before them. */
export function sampleEntryIn(
  ahead: Buffer,
  { type, headerBytes }: Box,
  stsdVersion: number,
): { readonly fixedBytes: number; readonly boxes: Layout } | undefined {
  const entry = SAMPLE_ENTRIES.get(type);
  if (entry === undefined) return undefined;
  if (entry.kind === 'video') return { fixedBytes: VIDEO_FIELDS_BYTES, boxes: entry.boxes };
  const versionAt = headerBytes + AUDIO_VERSION_AT;
  const version = ahead.length >= versionAt + 2 ? ahead.readUInt16BE(versionAt) : 0;
  const addedBytes = stsdVersion === 0 ? (QUICKTIME_FIELDS_BYTES[version] ?? 0) : 0;
  return { fixedBytes: AUDIO_FIELDS_BYTES + addedBytes, boxes: entry.boxes };
}
