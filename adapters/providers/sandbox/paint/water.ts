import { clamp01, mix, smoothstep } from './canvas.js';
import type { Frame } from './scene.js';
import { noise } from './random.js';

/** Turns everything below the horizon into water that mirrors what is above, broken by waves, with a path of light. */
export function paintWater(frame: Frame): void {
  const { canvas, elements, palette, random, width, height, horizonY, unit, seconds } = frame;
  const { seed } = random.fork('waves');
  const own = elements.get('sea');
  const body = own === undefined ? palette.water : mix(own, palette.near, 0.3);
  const source = canvas.data.slice(0, horizonY * width * 3);
  for (let y = horizonY; y < height; y += 1) {
    const near = (y - horizonY) / (height - horizonY);
    // Distant rows are seen at a shallow angle: waves there are thin and mirror more.
    const distance = 1 / (near * 1.6 + 0.08);
    const mirrored = 2 * horizonY - y - 1 - (y - horizonY) * 0.12;
    for (let x = 0; x < width; x += 1) {
      const u = ((x - width / 2) / unit) * (2.2 + distance * 0.9);
      const swell = noise(u * 1.4 + seconds * 0.22, distance * 12 + seconds * 0.9, seed);
      const chop = noise(u * 4.5 - seconds * 0.4, distance * 25 + seconds * 1.4, seed + 1);
      const wave = swell + 0.5 * chop - 0.75;
      const fromX = Math.round(Math.min(width - 1, Math.max(0, x + wave * unit * (0.008 + 0.03 * near))));
      const fromY = Math.round(Math.min(horizonY - 1, Math.max(0, mirrored + wave * unit * 0.075 * (0.15 + near))));
      const at = (fromY * width + fromX) * 3;
      canvas.blend(x, y, [source[at]!, source[at + 1]!, source[at + 2]!], 1);
      canvas.blend(x, y, body, 0.22 + 0.5 * smoothstep(0, 1, near) + clamp01(wave) * 0.25);
      if (wave > 0.32) canvas.glow(x, y, palette.sky.at(-1)!, (wave - 0.32) * 0.45 * (0.35 + near));
    }
  }
  if (elements.has('sun') || elements.has('moon')) paintGlitter(frame, seed);
}

function paintGlitter(frame: Frame, seed: number): void {
  const { canvas, elements, palette, width, height, horizonY, unit, seconds, sunX } = frame;
  const color = elements.get(elements.has('sun') ? 'sun' : 'moon') ?? palette.light;
  for (let y = horizonY; y < height; y += 1) {
    const near = (y - horizonY) / (height - horizonY);
    const spread = unit * (0.035 + 0.13 * near);
    const distance = 1 / (near * 1.6 + 0.08);
    for (let x = Math.max(0, Math.floor(sunX - 3 * spread)); x < Math.min(width, sunX + 3 * spread); x += 1) {
      const away = Math.exp(-(((x - sunX) / spread) ** 2));
      const sparkle = noise(((x - sunX) / unit) * (14 + distance * 3), distance * 26 + seconds * 2.6, seed + 9);
      canvas.glow(x, y, color, away * (smoothstep(0.52, 0.78, sparkle) * 0.85 + 0.1) * (1 - near * 0.55));
    }
  }
}
