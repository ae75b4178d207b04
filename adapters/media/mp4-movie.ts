import { viewOf } from './container-end.js';
import { boxesOf, boxIn, contentsOf, type InnerBox, LOOKED_AT_BYTES, wordAt } from './mp4-box.js';
import type { KnownParts } from './mp4-outline.js';
import { sampleEntryIn, STSD_BYTES } from './mp4-sample-entry.js';

/** A top-level box of a file of which some parts are known. */
export interface TopBox {
  readonly type: string;
  readonly at: number;
  readonly contentAt: number;
  readonly contentEnd: number;
  /** What is known of its content: all of an index box. */
  readonly content: Buffer;
}

export function* topBoxes({ parts }: KnownParts): Generator<TopBox> {
  for (const { at, bytes } of parts) {
    const view = viewOf(bytes);
    const box = boxIn(view.subarray(0, LOOKED_AT_BYTES), Infinity);
    if (box === undefined) continue;
    const { type, headerBytes, contentBytes } = box;
    const contentAt = at + headerBytes;
    const content = view.subarray(headerBytes).subarray(0, contentBytes);
    yield { type, at, contentAt, contentEnd: contentAt + contentBytes, content };
  }
}

/** The contents of all `moov` boxes. */
export function moviesIn(known: KnownParts): readonly Buffer[] {
  return [...topBoxes(known)].filter(({ type }) => type === 'moov').map(({ content }) => content);
}

export function trackIdOf(trak: Buffer): number | undefined {
  const [tkhd] = contentsOf([trak], ['tkhd']);
  return tkhd === undefined ? undefined : wordAfterTimes(tkhd);
}

/** Behind a version, flags and two times, which take eight bytes each in version 1. */
export function wordAfterTimes(content: Buffer): number {
  return wordAt(content, content[0] === 1 ? 20 : 12);
}

export interface SampleEntryBox {
  readonly type: string;
  readonly content: Buffer;
  readonly boxes: readonly InnerBox[];
}

/** The sample entries of a track that are of a known format. */
export function sampleEntriesOf(trak: Buffer): readonly SampleEntryBox[] {
  return contentsOf([trak], ['mdia', 'minf', 'stbl', 'stsd']).flatMap((stsd) =>
    [...boxesOf(stsd.subarray(STSD_BYTES))].flatMap(({ type, content }) => {
      const entry = { type, headerBytes: 8, contentBytes: content.length, isManifest: false } as const;
      const ahead = Buffer.concat([Buffer.alloc(8), content.subarray(0, LOOKED_AT_BYTES)]);
      const known = sampleEntryIn(ahead, entry, stsd[0] ?? 0);
      return known === undefined ? [] : [{ type, content, boxes: [...boxesOf(content.subarray(known.fixedBytes))] }];
    }),
  );
}
