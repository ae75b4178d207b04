import type { MediaProbe } from '../../core/ports/media-probe.js';

export type ProbeLimits = Parameters<MediaProbe['probe']>[1];

/** The answer for bytes that are not what they should be. */
export interface Invalid { readonly invalid: string }

/** Past this side length no picture or video of ours exists; checked before multiplying. */
const MAX_SIDE_PX = 65_535;

/** What is wrong with these dimensions, or undefined. `frames` pictures of that size may be held at once. */
export function sizeFault(widthPx: number, heightPx: number, frames: number, maxPixels: number): Invalid | undefined {
  for (const side of [widthPx, heightPx]) {
    if (!Number.isInteger(side) || side < 1 || side > MAX_SIDE_PX) return { invalid: 'The file does not say a usable width and height.' };
  }
  if (widthPx * heightPx * frames <= maxPixels) return undefined;
  const what = frames === 1 ? `${widthPx}x${heightPx} pixels` : `${frames} frames of ${widthPx}x${heightPx} pixels`;
  return { invalid: `The file has ${what}; at most ${maxPixels} pixels are allowed.` };
}
