import { clamp01, mix, scale, smoothstep, type Color } from './canvas.js';
import { fractalNoise, noise } from './random.js';
import type { Frame } from './scene.js';

/** Paints everything from a crest down to `bottom`. `down` is the depth below the crest, in units. */
function paintBelow(
  { canvas, unit }: Frame,
  crestAt: (x: number) => number,
  bottom: number,
  colorAt: (x: number, down: number, y: number) => Color,
): void {
  for (let x = 0; x < canvas.widthPx; x += 1) {
    const top = crestAt(x);
    for (let y = Math.max(0, Math.floor(top)); y < bottom; y += 1)
      canvas.blend(x, y, colorAt(x, (y + 0.5 - top) / unit, y), clamp01(y + 1 - top));
  }
}

/** Rocky ranges, the farthest and palest first; the farthest of tall ones have snow, except in a golden light. */
export function paintMountains(frame: Frame): void {
  const { elements, palette, random, time, side, width, unit, horizonY } = frame;
  const isTall = elements.has('mountain');
  const own = elements.get('mountain');
  const far = mix(palette.far, own ?? palette.far, 0.75);
  const land = own === undefined ? palette.near : mix(scale(own, 0.45), palette.near, 0.35);
  const cap = mix([1, 1, 1], palette.light, 0.4);
  const layers = isTall ? 4 : 2;
  for (let layer = 0; layer < layers; layer += 1) {
    const near = layer / (layers - 1);
    const { seed } = random.fork(`range ${layer}`);
    const color = mix(mix(palette.mist, far, 0.55), mix(far, land, 0.62), near);
    const mist = mix(palette.mist, color, 0.3);
    // The height of the highest peak above the horizon, as a share of the horizon's own height.
    const rise = isTall ? 0.5 - 0.36 * near : 0.16 - 0.08 * near;
    const snow = !isTall || near > 0.5 || time === 'golden' ? 0 : 0.75 - near * 0.75;
    const ridgeAt = (x: number): number =>
      fractalNoise(((x - width / 2) / unit) * (1.4 + near) + 125, layer, seed, 6, true);
    const crestAt = (x: number): number => horizonY * (1 - rise * (0.25 + 0.95 * ridgeAt(x)));
    paintBelow(frame, crestAt, horizonY, (x, down) => {
      // Noise that runs down the slope looks like gullies, one flank lit and the other in shade.
      const gullyAt = (shift: number): number =>
        fractalNoise((x / unit) * 9 + side * (down * 7 - shift), down * 8 + 9, seed, 5);
      const relief = gullyAt(0) - gullyAt(0.3);
      const rock = scale(color, 0.82 + clamp01(relief * 2.4 + 0.5) * 0.34);
      const line = rise * 0.3 + 0.05 * (noise((x / unit) * 26, down * 8, seed) - 0.5);
      const white = snow * smoothstep(line, line - 0.035, down);
      const covered = mix(rock, scale(cap, 0.55 + 0.35 * palette.brightness + relief * 0.5), white);
      return mix(covered, mist, 0.6 * smoothstep(0.25, 1, down / (rise * 0.9)));
    });
  }
}

export interface Hill {
  readonly seed: number;
  /** The average height of its crest and how far it rolls, as shares of the picture's height. */
  readonly level: number;
  readonly roll: number;
  readonly color: Color;
  /** A dune has a sharp crest, a lit and a shaded flank, and ripples. */
  readonly isDune?: boolean;
}

/** The height of a hill's crest in column `x`. */
export function crestY({ width, height, unit }: Frame, { level, roll, seed, isDune }: Hill, x: number): number {
  const wave = 2 * noise(((x - width / 2) / unit) * 1.5 + 50, 2, seed) - 1;
  return height * (level - roll * (isDune === true ? 1 - 2 * Math.abs(wave) : wave));
}

export function paintHill(frame: Frame, hill: Hill): void {
  const { height, unit, width, side } = frame;
  const { color, seed } = hill;
  const grassAt = (x: number, down: number, y: number): Color => {
    const grain = fractalNoise((x / unit) * 30, (y / unit) * 60, seed, 2) - 0.5;
    const shade = fractalNoise((x / unit) * 3 + 7, down * 8, seed, 2) - 0.5;
    return scale(color, (1.15 - 0.6 * clamp01(down * 3.2)) * (1 + grain * 0.14 + shade * 0.3));
  };
  const sandAt = (x: number, down: number, y: number): Color => {
    const across = ((x - width / 2) / unit) * 1.5 + 50;
    const flank = smoothstep(0.35, 0.65, noise(across - down * 1.5 * side, 2, seed));
    const ripple = noise(across * 4, (y / unit) * 90 + Math.sin(across * 6) * 2, seed) - 0.5;
    return scale(color, 0.72 + 0.4 * flank + ripple * 0.05 - Math.min(0.2, down * 0.5));
  };
  paintBelow(frame, (x) => crestY(frame, hill, x), height, hill.isDune === true ? sandAt : grassAt);
}

/** Turns everything below the horizon into water that mirrors what is above, broken by waves, with a path of light. */
export function paintWater({ canvas, elements, palette, random, width, height, unit, ...frame }: Frame): void {
  const { horizonY, seconds, sunX } = frame;
  const { seed } = random.fork('waves');
  const own = elements.get('sea');
  const body = own === undefined ? palette.water : mix(own, palette.near, 0.3);
  const hasLight = elements.has('sun') || elements.has('moon');
  const glitter = elements.get('sun') ?? elements.get('moon') ?? palette.light;
  canvas.eachPixel({ top: horizonY }, (x, y) => {
    const near = (y - horizonY) / (height - horizonY);
    // Distant rows are seen at a shallow angle: waves there are thin and mirror more.
    const distance = 1 / (near * 1.6 + 0.08);
    const u = ((x - width / 2) / unit) * (2.2 + distance * 0.9);
    const swell = noise(u * 1.4 + seconds * 0.22, distance * 12 + seconds * 0.9, seed);
    const chop = noise(u * 4.5 - seconds * 0.4, distance * 25 + seconds * 1.4, seed + 1);
    const wave = swell + 0.5 * chop - 0.75;
    const fromX = clamp01((x + wave * unit * (0.008 + 0.03 * near)) / (width - 1)) * (width - 1);
    const mirrored = horizonY - 1 - (y - horizonY) * 1.12 + wave * unit * 0.075 * (0.15 + near);
    const source = canvas.colorAt(Math.round(fromX), Math.round(clamp01(mirrored / (horizonY - 1)) * (horizonY - 1)));
    canvas.blend(x, y, mix(source, body, 0.22 + 0.5 * smoothstep(0, 1, near) + clamp01(wave) * 0.25), 1);
    canvas.blend(x, y, palette.mist, Math.max(0, wave - 0.32) * 0.45 * (0.35 + near));
    const away = (x - sunX) / (unit * (0.035 + 0.13 * near));
    if (!hasLight || Math.abs(away) > 3) return;
    const sparkle = noise(((x - sunX) / unit) * (14 + distance * 3), distance * 26 + seconds * 2.6, seed + 9);
    const strength = smoothstep(0.52, 0.78, sparkle) * 0.85 + 0.1;
    canvas.blend(x, y, glitter, Math.exp(-(away ** 2)) * strength * (1 - near * 0.55));
  });
}
