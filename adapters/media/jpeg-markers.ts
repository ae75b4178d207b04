export const START_OF_IMAGE = 0xd8;
export const END_OF_IMAGE = 0xd9;
export const START_OF_SCAN = 0xda;

/** A frame header that says that its scans are coded arithmetically. */
export function isArithmetic(marker: number): boolean {
  return (marker >= 0xc9 && marker <= 0xcb) || (marker >= 0xcd && marker <= 0xcf);
}

/** Markers that stand alone, without a length: TEM and the restart markers. */
export function standsAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/**
 * The next marker's place in entropy-coded data: an 0xff that is neither stuffed nor a restart marker. The length of the
 * view where there is none; a last 0xff alone is none.
 */
export function afterScan(view: Buffer, from: number): number {
  let at = view.indexOf(0xff, from);
  while (at !== -1 && at + 1 < view.length) {
    const following = view[at + 1]!;
    if (following !== 0x00 && following !== 0xff && !standsAlone(following)) return at;
    at += following === 0xff ? 1 : 2;
    // A search costs as much as a dozen steps.
    if (view[at] !== 0xff) at = view.indexOf(0xff, at);
  }
  return view.length;
}
