import { clamp01, hex, mix, scale, smoothstep, type Color } from './canvas.js';
import type { Frame } from './scene.js';
import { fractalNoise, noise, ridgedNoise } from './random.js';

/** Mountain ranges, the farthest first; farther ranges are paler. */
export function paintMountains(frame: Frame): void {
  const { elements, palette, random, time } = frame;
  const isTall = elements.has('mountain');
  const own = elements.get('mountain');
  const far = own === undefined ? palette.far : mix(own, palette.far, 0.25);
  const land = own === undefined ? palette.near : mix(scale(own, 0.45), palette.near, 0.35);
  const layers = isTall ? 4 : 2;
  for (let layer = 0; layer < layers; layer += 1) {
    const near = layer / (layers - 1);
    paintRange(frame, {
      seed: random.fork(`range ${layer}`).seed,
      rise: isTall ? 0.5 - 0.36 * near : 0.16 - 0.08 * near,
      detail: isTall ? 1.1 + near * 0.9 : 0.8,
      isJagged: isTall && layer < 3,
      color: mix(mix(palette.sky.at(-1)!, far, 0.55), mix(far, land, 0.62), near),
      snow: isTall && layer < 2 && time !== 'golden' ? 0.75 - layer * 0.25 : 0,
    });
  }
}

interface Range {
  readonly seed: number;
  /** Height of the highest peak above the horizon, as a share of the horizon's own height. */
  readonly rise: number;
  readonly detail: number;
  readonly isJagged: boolean;
  readonly color: Color;
  /** How white the tops are, 0 to 1. */
  readonly snow: number;
}

function paintRange({ canvas, palette, side, width, unit, horizonY }: Frame, range: Range): void {
  const { seed, rise, isJagged } = range;
  const mist = mix(palette.sky.at(-1)!, range.color, 0.3);
  const cap = mix([1, 1, 1], palette.light, 0.4);
  for (let x = 0; x < width; x += 1) {
    const across = ((x - width / 2) / unit) * range.detail + 100;
    const ridge = isJagged ? ridgedNoise(across * 1.25, seed, 6) : fractalNoise(across * 1.6, 3, seed, 4);
    const ridgeY = horizonY - horizonY * rise * (0.25 + 0.95 * ridge);
    for (let y = Math.max(0, Math.floor(ridgeY)); y < horizonY; y += 1) {
      const down = (y + 0.5 - ridgeY) / unit;
      // Noise that runs down the slope looks like gullies, one flank lit and the other in shade.
      const slope = (x / unit) * 9 + side * down * 7;
      const relief =
        fractalNoise(slope, down * 8 + 9, seed, 5) - fractalNoise(slope - 0.3 * side, down * 8 + 9, seed, 5);
      let color = scale(range.color, 1 + (clamp01(relief * 2.4 + 0.5) * 0.34 - 0.18) * (isJagged ? 1 : 0.3));
      if (range.snow > 0) {
        const line = rise * 0.3 + 0.05 * (noise((x / unit) * 26, down * 8, seed) - 0.5);
        const white = smoothstep(line, line - 0.035, down * (1.3 - ridge * 0.5)) * range.snow;
        color = mix(color, scale(cap, 0.55 + 0.35 * palette.brightness + relief * 0.5), white);
      }
      const foot = smoothstep(0.25, 1, clamp01(down / (rise * 0.9)));
      canvas.blend(x, y, mix(color, mist, foot * 0.6), clamp01(y + 1 - ridgeY));
    }
  }
}

export interface Hill {
  readonly seed: number;
  /** The average height of its crest and how far it rolls, as shares of the picture's height. */
  readonly level: number;
  readonly roll: number;
  readonly top: Color;
  readonly bottom: Color;
}

/** The height of a hill's crest in column `x`. */
export function crestY({ width, height, unit }: Frame, { level, roll, seed }: Hill, x: number): number {
  return height * (level - roll * (noise(((x - width / 2) / unit) * 1.5 + 50, 2, seed) - 0.5) * 2);
}

export function paintHill(frame: Frame, hill: Hill): void {
  const { canvas, width, height, unit } = frame;
  for (let x = 0; x < width; x += 1) {
    const crest = crestY(frame, hill, x);
    for (let y = Math.max(0, Math.floor(crest)); y < height; y += 1) {
      const down = (y - crest) / unit;
      const grain = fractalNoise((x / unit) * 30, (y / unit) * 60, hill.seed, 2) - 0.5;
      const shade = fractalNoise((x / unit) * 3 + 7, down * 8, hill.seed, 2) - 0.5;
      const color = scale(mix(hill.top, hill.bottom, clamp01(down * 3.2)), 1 + grain * 0.14 + shade * 0.3);
      canvas.blend(x, y, color, clamp01(y + 1 - crest));
    }
  }
}

/** Four rows of dunes, each with a lit and a shaded flank. */
export function paintDunes({ canvas, elements, palette, random, side, width, height, unit, horizonY }: Frame): void {
  const horizon = palette.sky.at(-1)!;
  const sunlit = mix(elements.get('desert') ?? hex('e3a868'), horizon, 0.2);
  const sand = mix([0, 0, 0], sunlit, 0.3 + 0.7 * palette.brightness);
  for (let row = 0; row < 4; row += 1) {
    const { seed } = random.fork(`dune ${row}`);
    const near = row / 3;
    const color = mix(mix(sand, horizon, 0.45), sand, near);
    for (let x = 0; x < width; x += 1) {
      const across = (x - width / 2) / unit + 60;
      const ridge = 1 - Math.abs(2 * noise(across * (1.9 - near * 0.6), row, seed) - 1);
      const level = horizonY + (height - horizonY) * near * 0.62 - unit * 0.02;
      const crest = level - unit * (0.06 + 0.06 * near) * ridge ** 1.4;
      for (let y = Math.max(0, Math.floor(crest)); y < height; y += 1) {
        const down = (y - crest) / unit;
        const flank = noise(across * (1.9 - near * 0.6) - down * 1.4 * side, row, seed);
        const ripple = noise(across * 6, (y / unit) * (120 - 60 * near) + Math.sin(across * 9) * 2, seed) - 0.5;
        const shade = 0.72 + 0.4 * smoothstep(0.35, 0.65, flank) + ripple * 0.05 - Math.min(0.2, down * 0.5);
        canvas.blend(x, y, scale(color, shade), clamp01(y + 1 - crest));
      }
    }
  }
}
