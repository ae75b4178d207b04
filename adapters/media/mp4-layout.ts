import type { Box } from './mp4-box.js';

/**
 * The part of a box's content that is kept: all, all but a long name at its end, its first bytes, the codec's boxes in
 * sample entries, the boxes in it that are named here, or those after the first bytes.
 */
export type Kept = 'all' | 'all but a long name' | 'sample entries' | number | Layout | BoxesBehind;

export interface BoxesBehind {
  readonly fixedBytes: number;
  readonly boxes: Layout;
}

export interface Layout {
  readonly [type: string]: Kept;
}

function whole(types: string): Layout {
  return Object.fromEntries(types.split(' ').map((type) => [type, 'all' as const]));
}

/** Sizes, times, places and groups of samples, and what they are encoded with. */
const SAMPLE_TABLE: Layout = {
  ...whole('stts ctts cslg stsc stsz stz2 stco co64 stss stsh padb stdp sdtp sbgp sgpd subs saiz saio'),
  stsd: 'sample entries',
};

/** Version and flags. */
const FLAGS_BYTES = 4;

/** Flags, a track and two times. */
const TIMES_BYTES = 24;

/** A reference says by a flag that the samples are in this file; an address or the name of a file may follow. */
const REFERENCES: BoxesBehind = {
  fixedBytes: 8,
  boxes: Object.fromEntries(['url ', 'url\0', 'urn ', 'alis', 'rsrc'].map((type) => [type, FLAGS_BYTES])),
};

/** A handler says in its first 24 bytes what a track has; a name follows. */
export const BYTES_BEFORE_NAME = 24;

/** Programs write names such as `VideoHandler`, which a C2PA manifest covers. A longer one may be any text. */
export const MAX_NAME_BYTES = 64;

const TRACK: Layout = {
  ...whole('tkhd tref trgr'),
  tapt: whole('clef prof enof'),
  edts: whole('elst'),
  mdia: {
    ...whole('mdhd elng'),
    hdlr: 'all but a long name',
    minf: {
      ...whole('vmhd smhd hmhd sthd nmhd'),
      gmhd: whole('gmin'),
      dinf: { dref: REFERENCES },
      stbl: SAMPLE_TABLE,
    },
  },
};

const FRAGMENT = whole('tfhd tfdt trun sbgp sgpd subs saiz saio');

/** The boxes of an MP4 file that say how to play it. All others describe it, or are unknown to players. */
export const MP4_LAYOUT: Layout = {
  ...whole('ftyp styp mdat sidx ssix pdin'),
  prft: TIMES_BYTES,
  moov: { ...whole('mvhd iods'), mvex: whole('mehd trex leva'), trak: TRACK },
  moof: { ...whole('mfhd'), traf: FRAGMENT },
  mfra: whole('tfra mfro'),
};

/**
 * The handlers that a track may have. Every other handler has samples of text or data, which may say how the video was
 * made.
 */
export const TRACK_HANDLERS: ReadonlySet<string> = new Set(['vide', 'soun']);

/** The codec boxes of a sample entry. */
export interface SampleEntry {
  readonly kind: 'video' | 'audio';
  readonly boxes: Layout;
}

/** These boxes say that a sample is encrypted, and how; others there may name the buyer. The probe refuses the file. */
const PROTECTION = whole('frma schm');

const VIDEO: SampleEntry = {
  kind: 'video',
  boxes: {
    ...whole(
      'avcC svcC mvcC hvcC lhvC vvcC av1C vpcC esds glbl dvcC dvvC dvwC btrt colr pasp clap fiel gama mdcv clli SmDm CoLL ' +
        'amve cslg st3d vexu hfov',
    ),
    // Its header names the program that wrote it.
    sv3d: { svhd: FLAGS_BYTES, ...whole('proj') },
    sinf: PROTECTION,
  },
};
const AUDIO: SampleEntry = {
  kind: 'audio',
  boxes: {
    ...whole('esds dOps dfLa dac3 dec3 dac4 alac damr ddts mhaC pcmC chan chnl srat btrt'),
    // A box without a name ends it.
    wave: whole('frma enda esds mp4a alac \0\0\0\0'),
    sinf: PROTECTION,
  },
};

/** The formats of samples that are pictures or sound. */
export const SAMPLE_ENTRIES: ReadonlyMap<string, SampleEntry> = new Map([
  ...entries(VIDEO, 'avc1 avc2 avc3 avc4 hvc1 hev1 vvc1 vvi1 av01 vp08 vp09 mp4v dva1 dvav dvh1 dvhe jpeg mjpg encv'),
  ...entries(AUDIO, 'mp4a Opus fLaC alac ac-3 ec-3 ac-4 samr sawb dtsc dtse dtsh dtsl mha1 mhm1 .mp3 enca'),
  ...entries(AUDIO, 'ipcm fpcm lpcm sowt twos in24 in32 fl32 fl64 ulaw alaw'),
]);

function entries(entry: SampleEntry, types: string): (readonly [string, SampleEntry])[] {
  return types.split(' ').map((type) => [type, entry] as const);
}

const MP4_UNWANTED: ReadonlySet<string> = new Set('free skip wide udta meta uuid emsg'.split(' '));

/** Whether a box of this type is one of a file. Any other makes the file invalid to the probe, and is left to it. */
export function isTopBox(type: string): boolean {
  return MP4_LAYOUT[type] !== undefined || MP4_UNWANTED.has(type);
}

/** The bytes of an `stsd` box before its sample entries: its version, and their number. */
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
