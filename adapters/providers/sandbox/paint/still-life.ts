import { clamp01, hex, mix, scale, smoothstep, type Color } from './color.js';
import type { Frame } from './frame.js';

const GROUNDS: readonly [readonly [Color, Color], ...(readonly [Color, Color])[]] = [
  [hex('f6e7d4'), hex('e9b8a0')],
  [hex('dfe9f3'), hex('9db8d9')],
  [hex('f3e4ef'), hex('c4a3d6')],
  [hex('e8f1e4'), hex('9cc7b2')],
  [hex('2c3557'), hex('151a33')],
];

/** A studio wall running into a floor, lit from one side, for shapes to float in front of. */
export function paintStillLife({ canvas, scene, width, height, unit }: Frame): void {
  const [light, deep] = scene.random.fork('studio').pick(GROUNDS);
  const floorY = height * 0.7;
  for (let y = 0; y < height; y += 1) {
    const floor = smoothstep(floorY - height * 0.06, floorY + height * 0.06, y);
    for (let x = 0; x < width; x += 1) {
      const away = Math.hypot(x - scene.lightX * width, y - height * 0.25) / (unit * 1.15);
      const wall = mix(light, deep, clamp01(away) ** 1.2);
      canvas.blend(
        x,
        y,
        mix(wall, scale(mix(light, deep, 0.35 + 0.3 * clamp01((y - floorY) / (height - floorY))), 0.97), floor),
        1,
      );
    }
  }
}
