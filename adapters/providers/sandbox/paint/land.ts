import { clamp01, mix, scale, smoothstep, type Color } from './color.js';
import type { Frame } from './frame.js';
import { fractalNoise, noise, ridgedNoise } from './noise.js';

/** Mountain ranges, the farthest first, each paler the farther it is, with mist at its foot. */
export function paintMountains(frame: Frame): void {
  const { scene } = frame;
  const isTall = scene.elements.has('mountain');
  const own = scene.elements.get('mountain');
  const layers = isTall ? 4 : 2;
  for (let layer = 0; layer < layers; layer += 1) {
    const near = layer / (layers - 1);
    const far = own === undefined ? scene.palette.far : mix(own, scene.palette.far, 0.25);
    const land = own === undefined ? scene.palette.near : mix(scale(own, 0.45), scene.palette.near, 0.35);
    paintRange(frame, {
      seed: scene.random.fork(`range ${layer}`).seed,
      rise: isTall ? 0.5 - 0.36 * near : 0.16 - 0.08 * near,
      detail: isTall ? 1.1 + near * 0.9 : 0.8,
      jagged: isTall && layer < 3,
      color: mix(mix(scene.palette.sky.at(-1)!, far, 0.55), mix(far, land, 0.62), near),
      snow: isTall && layer < 2 && scene.time !== 'golden' ? 0.75 - layer * 0.25 : 0,
    });
  }
}

interface Range {
  readonly seed: number;
  /** Height of the highest peak over the horizon, of the horizon's own height. */
  readonly rise: number;
  readonly detail: number;
  readonly jagged: boolean;
  readonly color: Color;
  /** How white the tops are, 0 to 1. */
  readonly snow: number;
}

function paintRange({ canvas, scene, width, unit, horizonY }: Frame, range: Range): void {
  const mist = mix(scene.palette.sky.at(-1)!, range.color, 0.3);
  const cap = mix([1, 1, 1], scene.palette.light, 0.4);
  for (let x = 0; x < width; x += 1) {
    const across = ((x - width / 2) / unit) * range.detail + 100;
    const outline = range.jagged
      ? ridgedNoise(across * 1.25, range.seed, 6)
      : fractalNoise(across * 1.6, 3, range.seed, 4);
    const ridgeY = horizonY - horizonY * range.rise * (0.25 + 0.95 * outline);
    const side = scene.lightX > 0.5 ? 1 : -1;
    for (let y = Math.max(0, Math.floor(ridgeY)); y < horizonY; y += 1) {
      const down = (y + 0.5 - ridgeY) / unit;
      const cover = clamp01(y + 1 - ridgeY);
      // Noise that runs down the slope reads as gullies, one flank lit and the other in shade.
      const slope = (x / unit) * 9 - side * down * 7;
      const relief =
        fractalNoise(slope, down * 8 + 9, range.seed, 5) -
        fractalNoise(slope + 0.3 * side, down * 8 + 9, range.seed, 5);
      const height = clamp01(down / (range.rise * 0.9));
      let color = scale(range.color, 1 + (clamp01(relief * 2.4 + 0.5) * 0.34 - 0.18) * (range.jagged ? 1 : 0.3));
      if (range.snow > 0) {
        const line = range.rise * 0.3 + 0.05 * (noise((x / unit) * 26, down * 8, range.seed) - 0.5);
        const white = smoothstep(line, line - 0.035, down * (1.3 - outline * 0.5)) * range.snow;
        color = mix(color, scale(cap, 0.55 + 0.35 * scene.palette.brightness + relief * 0.5), white);
      }
      canvas.blend(x, y, mix(color, mist, smoothstep(0.25, 1, height) * 0.6), cover);
    }
  }
}

export interface Hill {
  readonly seed: number;
  /** Where its crest is on average and how far it rolls, of the picture's height. */
  readonly level: number;
  readonly roll: number;
  readonly top: Color;
  readonly bottom: Color;
}

/** Where a hill's crest is in column `x`. */
export function crestY({ width, height, unit }: Frame, hill: Hill, x: number): number {
  return height * (hill.level - hill.roll * (noise(((x - width / 2) / unit) * 1.5 + 50, 2, hill.seed) - 0.5) * 2);
}

export function paintHill(frame: Frame, hill: Hill): void {
  const { canvas, width, height, unit } = frame;
  for (let x = 0; x < width; x += 1) {
    const crest = crestY(frame, hill, x);
    for (let y = Math.max(0, Math.floor(crest)); y < height; y += 1) {
      const down = (y - crest) / unit;
      const grain = fractalNoise((x / unit) * 30, (y / unit) * 60, hill.seed, 2) - 0.5;
      const shade = fractalNoise((x / unit) * 3 + 7, down * 8, hill.seed, 2) - 0.5;
      canvas.blend(
        x,
        y,
        scale(mix(hill.top, hill.bottom, clamp01(down * 3.2)), 1 + grain * 0.14 + shade * 0.3),
        clamp01(y + 1 - crest),
      );
    }
  }
}
