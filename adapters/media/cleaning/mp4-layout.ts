/** What of a box's content is kept: all, all but a long name at its end, or the boxes in it that are named here. */
export type Kept = 'all' | 'all but a long name' | Layout;

export interface Layout {
  readonly [type: string]: Kept;
}

function whole(types: string): Layout {
  return Object.fromEntries(types.split(' ').map((type) => [type, 'all' as const]));
}

/** Sizes, times, places and groups of samples, and what they are encoded with. */
const SAMPLE_TABLE = whole(
  'stsd stts ctts cslg stsc stsz stz2 stco co64 stss stsh padb stdp sdtp sbgp sgpd subs saiz saio',
);

/** A handler says in its first 24 bytes what a track has; a name follows. */
export const BYTES_BEFORE_NAME = 24;

/** Programs write names such as `VideoHandler`, which a C2PA manifest covers. A longer one may be any text. */
export const MAX_NAME_BYTES = 64;

const TRACK: Layout = {
  ...whole('tkhd tref trgr tapt'),
  edts: whole('elst'),
  mdia: {
    ...whole('mdhd elng'),
    hdlr: 'all but a long name',
    minf: { ...whole('vmhd smhd hmhd sthd nmhd gmhd dinf'), stbl: SAMPLE_TABLE },
  },
};

const FRAGMENT = whole('tfhd tfdt trun sbgp sgpd subs saiz saio');

/** The boxes of an MP4 file that say how to play it. All others describe it, or are unknown to players. */
export const MP4_LAYOUT: Layout = {
  ...whole('ftyp styp mdat sidx ssix prft pdin'),
  moov: { ...whole('mvhd iods'), mvex: whole('mehd trex leva'), trak: TRACK },
  moof: { ...whole('mfhd'), traf: FRAGMENT },
  mfra: whole('tfra mfro'),
};

/** Boxes of a file beside those of the layout. Any other makes the file invalid to the probe, and is left to it. */
export const MP4_UNWANTED: ReadonlySet<string> = new Set('free skip wide udta meta uuid emsg'.split(' '));
