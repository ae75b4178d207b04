import { clamp01, mix, smoothstep } from './color.js';
import { fillGlow, fillShape } from './fill.js';
import type { Frame } from './frame.js';
import { fractalNoise } from './noise.js';
import { polygon } from './shape.js';

export function paintWeather(frame: Frame): void {
  const { elements } = frame.scene;
  if (elements.has('fog')) paintFog(frame);
  if (elements.has('rain')) paintRain(frame);
  if (elements.has('snow')) paintSnowfall(frame);
}

function paintFog({ canvas, scene, width, height, horizonY, unit, seconds }: Frame): void {
  const seed = scene.random.fork('fog').seed;
  const color = mix(scene.palette.sky.at(-1)!, [0.85, 0.87, 0.9], 0.35 * scene.palette.brightness + 0.1);
  for (let y = 0; y < height; y += 1) {
    const band = smoothstep(0.42, 0.05, Math.abs(y - horizonY) / height);
    if (band === 0) continue;
    for (let x = 0; x < width; x += 1) {
      const drift = fractalNoise((x / unit) * 1.6 + seconds * 0.05, (y / unit) * 5, seed, 4);
      canvas.blend(x, y, color, clamp01(band * (0.35 + drift * 0.85)));
    }
  }
}

function paintSnowfall({ canvas, scene, width, height, unit, seconds }: Frame): void {
  const random = scene.random.fork('snow');
  for (let flake = 0; flake < 260; flake += 1) {
    const near = random.next() ** 3;
    const x =
      (random.next() * width + Math.sin(seconds * (0.6 + near) + flake) * unit * 0.02 + seconds * unit * 0.02 + width) %
      width;
    const y = (random.next() * height + seconds * unit * (0.08 + 0.2 * near)) % height;
    fillGlow(canvas, x, y, 1.2 + unit * (0.004 + 0.014 * near), [1, 1, 1], 0.95);
  }
}

function paintRain({ canvas, scene, width, height, unit, seconds }: Frame): void {
  const random = scene.random.fork('rain');
  for (let drop = 0; drop < 220; drop += 1) {
    const near = random.next() ** 2;
    const length = unit * (0.025 + 0.07 * near);
    const x = random.next() * width * 1.1;
    const y = ((random.next() * height + seconds * unit * (1.1 + near)) % (height + length)) - length;
    const thick = 0.4 + unit * 0.0009;
    fillShape(
      canvas,
      polygon([
        [x, y],
        [x + thick, y],
        [x - length * 0.16 + thick, y + length],
        [x - length * 0.16, y + length],
      ]),
      { top: [0.85, 0.9, 1], alpha: 0.14 + 0.2 * near },
    );
  }
}
