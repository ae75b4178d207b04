import { clamp01, mix, ramp, scale, smoothstep, type Color } from './canvas.js';
import type { Frame } from './scene.js';
import { fractalNoise, noise } from './random.js';
import { circle, polygon } from './shape.js';

export function paintSky(frame: Frame): void {
  const { elements, palette, unit, width, sunX, sunY } = frame;
  paintGradient(frame);
  if (elements.has('stars')) paintStars(frame);
  if (elements.has('aurora')) paintAurora(frame);
  const hasSun = elements.has('sun');
  if (hasSun) paintSun(frame, elements.get('sun') ?? palette.light);
  // With both in one sky, the moon is on the other side.
  const moonX = hasSun ? width - sunX : sunX;
  if (elements.has('moon'))
    paintMoon(frame, moonX, Math.min(sunY, unit * 0.24), elements.get('moon') ?? [0.96, 0.95, 0.9]);
  if (elements.has('rainbow')) paintRainbow(frame);
  if (elements.has('cloud') || elements.has('rain')) paintClouds(frame);
}

function paintGradient({ canvas, palette, width, height, horizonY, sunX }: Frame): void {
  for (let y = 0; y < height; y += 1) {
    const position = clamp01(y / horizonY) ** 1.15;
    const color = ramp(palette.sky, position);
    for (let x = 0; x < width; x += 1) {
      // Warmer towards the light, near the horizon.
      const near = clamp01(1 - Math.abs(x - sunX) / width) ** 2 * position ** 3 * 0.25;
      canvas.blend(x, y, mix(color, palette.light, near), 1);
    }
  }
}

function paintStars({ canvas, random: scene, width, unit, horizonY, seconds }: Frame): void {
  const random = scene.fork('stars');
  for (let star = 0; star < 260; star += 1) {
    const x = random.next() * width;
    const y = random.next() ** 1.4 * horizonY * 0.95;
    const size = random.next() ** 6;
    const twinkle = 0.8 + 0.2 * Math.sin(random.next() * 6.28 + seconds * (2 + size * 3));
    const tint = mix([0.75, 0.85, 1], [1, 0.92, 0.8], random.next());
    const strength = (0.55 + 0.45 * size) * twinkle * (1 - (y / horizonY) ** 2) * 1.6;
    canvas.fillGlow(x, y, unit * (0.003 + 0.016 * size) + 0.9, tint, strength);
  }
}

function paintAurora({ canvas, elements, random, width, horizonY, seconds }: Frame): void {
  const { seed } = random.fork('aurora');
  const color = elements.get('aurora') ?? [0.2, 0.95, 0.6];
  for (let x = 0; x < width; x += 1) {
    const across = (x / width) * 3;
    const wave =
      0.35 * noise(across * 0.7 + seconds * 0.05, 1, seed) + 0.06 * noise(across * 3 + seconds * 0.1, 2, seed);
    const rays = 0.45 + 0.55 * noise(across * 22 + seconds * 0.3, seconds * 0.2, seed);
    const bright = smoothstep(0.2, 0.8, noise(across * 1.3, 5 + seconds * 0.08, seed)) * 0.8 + 0.2;
    for (let y = 0; y < Math.min(horizonY, horizonY * (0.54 + wave)); y += 1) {
      const up = 0.54 + wave - y / horizonY;
      const curtain = smoothstep(0, 0.05, up) * Math.exp(-up * 4.2) * rays * bright;
      canvas.glow(x, y, mix(color, [0.6, 0.25, 0.9], clamp01(up * 1.6)), curtain * 0.85);
    }
  }
}

function paintSun({ canvas, time, unit, sunX, sunY }: Frame, color: Color): void {
  const isLow = time !== 'day';
  canvas.fillGlow(sunX, sunY, unit * 0.85, color, isLow ? 0.6 : 0.45);
  canvas.fillGlow(sunX, sunY, unit * 0.26, color, 0.85);
  const [top, bottom] = [mix(color, [1, 1, 1], 0.55), mix(color, [1, 1, 1], 0.1)];
  canvas.fillShape(circle(sunX, sunY, unit * (isLow ? 0.075 : 0.055)), { top, bottom });
}

function paintMoon({ canvas, random: scene, unit }: Frame, x: number, y: number, color: Color): void {
  const radius = unit * 0.062;
  const random = scene.fork('moon');
  canvas.fillGlow(x, y, unit * 0.55, color, 0.35);
  canvas.fillGlow(x, y, unit * 0.17, color, 0.5);
  canvas.fillShape(circle(x, y, radius), { top: scale(color, 1.04), bottom: scale(color, 0.93) });
  for (let crater = 0; crater < 7; crater += 1) {
    const angle = random.next() * 6.28;
    const away = Math.sqrt(random.next()) * 0.72 * radius;
    const place = circle(x + Math.cos(angle) * away, y + Math.sin(angle) * away, radius * random.between(0.08, 0.22));
    canvas.fillShape(place, { top: scale(color, 0.8), bottom: scale(color, 0.9), alpha: 0.55 });
  }
}

const RAINBOW: readonly Color[] = [
  [0.55, 0.3, 0.9],
  [0.25, 0.45, 1],
  [0.2, 0.85, 0.5],
  [1, 0.9, 0.3],
  [1, 0.55, 0.2],
  [1, 0.2, 0.25],
];

function paintRainbow({ canvas, width, horizonY, unit }: Frame): void {
  const outer = Math.max(unit * 0.46, horizonY * 0.8);
  const band = unit * 0.085;
  for (let y = 0; y < horizonY; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const inside = (Math.hypot(x - width * 0.5, y - horizonY) - outer + band) / band;
      if (inside > 0 && inside < 1)
        canvas.blend(x, y, ramp(RAINBOW, inside), 0.5 * smoothstep(0, 0.2, inside) * smoothstep(1, 0.8, inside));
    }
  }
}

function paintClouds(frame: Frame): void {
  const { canvas, elements, palette, random, time, width, horizonY, unit, seconds, sunX, sunY } = frame;
  const { seed } = random.fork('clouds');
  const isHeavy = elements.has('rain');
  const lit = elements.get('cloud') ?? mix(palette.cloud, [0.5, 0.53, 0.6], isHeavy ? 0.7 : 0);
  const shade = mix(lit, palette.sky[1]!, isHeavy ? 0.35 : 0.55);
  const cut = isHeavy ? 0.36 : time === 'day' ? 0.53 : 0.5;
  for (let y = 0; y < horizonY; y += 1) {
    const down = y / horizonY;
    const window = smoothstep(0, 0.14, down) * smoothstep(1.02, 0.75, down);
    if (window === 0) continue;
    // Flatter and smaller towards the horizon, as distant clouds look.
    const v = down * (2.2 + 4 * down) * 1.9;
    for (let x = 0; x < width; x += 1) {
      const u = ((x - width / 2) / unit) * (1.5 + down * 1.3) + seconds * 0.035 + 40;
      const thick = smoothstep(cut, cut + 0.24, fractalNoise(u, v, seed, 5)) * window;
      if (thick <= 0) continue;
      // If there is less cloud just above, the edge catches the light.
      const edge = smoothstep(0.02, -0.12, fractalNoise(u, v - 0.16, seed, 3) - 0.5);
      const near = clamp01(1 - Math.hypot(x - sunX, y - sunY) / (unit * 0.7));
      canvas.blend(x, y, mix(shade, mix(lit, palette.light, near * 0.6), edge), thick * (isHeavy ? 0.92 : 0.8));
    }
  }
}

export function paintWeather(frame: Frame): void {
  if (frame.elements.has('fog')) paintFog(frame);
  if (frame.elements.has('rain')) paintRain(frame);
  if (frame.elements.has('snow')) paintSnowfall(frame);
}

function paintFog({ canvas, palette, random, width, height, horizonY, unit, seconds }: Frame): void {
  const { seed } = random.fork('fog');
  const color = mix(palette.sky.at(-1)!, [0.85, 0.87, 0.9], 0.35 * palette.brightness + 0.1);
  for (let y = 0; y < height; y += 1) {
    const band = smoothstep(0.42, 0.05, Math.abs(y - horizonY) / height);
    if (band === 0) continue;
    for (let x = 0; x < width; x += 1) {
      const drift = fractalNoise((x / unit) * 1.6 + seconds * 0.05, (y / unit) * 5, seed, 4);
      canvas.blend(x, y, color, clamp01(band * (0.35 + drift * 0.85)));
    }
  }
}

function paintSnowfall({ canvas, random: scene, width, height, unit, seconds }: Frame): void {
  const random = scene.fork('snow');
  for (let flake = 0; flake < 260; flake += 1) {
    const near = random.next() ** 3;
    const drift = (Math.sin(seconds * (0.6 + near) + flake) + seconds) * unit * 0.02;
    const x = (random.next() * width + drift + width) % width;
    const y = (random.next() * height + seconds * unit * (0.08 + 0.2 * near)) % height;
    canvas.fillGlow(x, y, 1.2 + unit * (0.004 + 0.014 * near), [1, 1, 1], 0.95);
  }
}

function paintRain({ canvas, random: scene, width, height, unit, seconds }: Frame): void {
  const random = scene.fork('rain');
  for (let drop = 0; drop < 220; drop += 1) {
    const near = random.next() ** 2;
    const length = unit * (0.025 + 0.07 * near);
    const x = random.next() * width * 1.1;
    const y = ((random.next() * height + seconds * unit * (1.1 + near)) % (height + length)) - length;
    const thick = 0.4 + unit * 0.0009;
    const [footX, footY] = [x - length * 0.16, y + length];
    const streak = polygon([[x, y], [x + thick, y], [footX + thick, footY], [footX, footY]]); // prettier-ignore
    canvas.fillShape(streak, { top: [0.85, 0.9, 1], alpha: 0.14 + 0.2 * near });
  }
}
