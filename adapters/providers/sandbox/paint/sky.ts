import { circle, clamp01, hex, mix, outline, ramp, scale, smoothstep } from './canvas.js';
import { fractalNoise, noise } from './random.js';
import type { Frame } from './scene.js';

export function paintSky(frame: Frame): void {
  const { canvas, elements, palette, width, height, horizonY, sunX } = frame;
  const { sky, light } = palette;
  for (let y = 0; y < height; y += 1) {
    const position = clamp01(y / horizonY) ** 1.15;
    const color = ramp(sky, position);
    // Warmer towards the light, near the horizon.
    const warmthAt = (x: number): number => clamp01(1 - Math.abs(x - sunX) / width) ** 2 * position ** 3 * 0.25;
    for (let x = 0; x < width; x += 1) canvas.blend(x, y, mix(color, light, warmthAt(x)), 1);
  }
  if (elements.has('stars')) paintStars(frame);
  if (elements.has('aurora')) paintAurora(frame);
  if (elements.has('sun')) paintSun(frame);
  if (elements.has('moon')) paintMoon(frame);
  if (elements.has('rainbow')) paintRainbow(frame);
  if (elements.has('cloud') || elements.has('rain')) paintClouds(frame);
}

function paintStars({ canvas, random: scene, width, unit, horizonY, seconds }: Frame): void {
  const random = scene.fork('stars');
  for (let star = 0; star < 260; star += 1) {
    const [across, up, size] = [random.next(), random.next() ** 1.4 * 0.95, random.next() ** 6];
    const twinkle = 0.8 + 0.2 * Math.sin(random.next() * 6.28 + seconds * (2 + size * 3));
    const tint = mix([0.75, 0.85, 1], [1, 0.92, 0.8], random.next());
    const strength = (0.9 + 0.7 * size) * twinkle * (1 - up ** 2);
    canvas.fillGlow(across * width, up * horizonY, unit * (0.003 + 0.016 * size) + 0.9, tint, strength);
  }
}

function paintAurora({ canvas, elements, random, width, horizonY, seconds }: Frame): void {
  const { seed } = random.fork('aurora');
  const color = elements.get('aurora') ?? [0.2, 0.95, 0.6];
  for (let x = 0; x < width; x += 1) {
    const across = (x / width) * 3;
    const foot = 0.54 + 0.35 * noise(across * 0.7 + seconds * 0.05, 1, seed) + 0.06 * noise(across * 3, 2, seed);
    const rays = 0.45 + 0.55 * noise(across * 22 + seconds * 0.3, seconds * 0.2, seed);
    const bright = smoothstep(0.2, 0.8, noise(across * 1.3, 5 + seconds * 0.08, seed)) * 0.68 + 0.17;
    for (let y = 0; y < horizonY * Math.min(1, foot); y += 1) {
      const up = foot - y / horizonY;
      const curtain = smoothstep(0, 0.05, up) * Math.exp(-up * 4.2) * rays * bright;
      canvas.blend(x, y, mix(color, [0.6, 0.25, 0.9], clamp01(up * 1.6)), curtain);
    }
  }
}

function paintSun({ canvas, elements, palette, time, unit, sunX, sunY }: Frame): void {
  const color = elements.get('sun') ?? palette.light;
  const isLow = time !== 'day';
  canvas.fillGlow(sunX, sunY, unit * 0.85, color, isLow ? 0.6 : 0.45);
  canvas.fillGlow(sunX, sunY, unit * 0.26, color, 0.85);
  const disc = circle(sunX, sunY, unit * (isLow ? 0.075 : 0.055));
  canvas.fillShape(disc, mix(color, [1, 1, 1], 0.55), mix(color, [1, 1, 1], 0.1));
}

/** With both in one sky, the moon is on the other side. */
function paintMoon({ canvas, elements, random: scene, width, unit, sunX, sunY }: Frame): void {
  const color = elements.get('moon') ?? [0.96, 0.95, 0.9];
  const random = scene.fork('moon');
  const [x, y] = [elements.has('sun') ? width - sunX : sunX, Math.min(sunY, unit * 0.24)];
  canvas.fillGlow(x, y, unit * 0.55, color, 0.35);
  canvas.fillGlow(x, y, unit * 0.17, color, 0.5);
  canvas.fillShape(circle(x, y, unit * 0.062), color, scale(color, 0.93));
  for (let crater = 0; crater < 7; crater += 1) {
    const [angle, away] = [random.next() * 6.28, Math.sqrt(random.next()) * 0.72];
    const spot = [Math.cos(angle) * away, Math.sin(angle) * away, random.between(0.08, 0.22)];
    canvas.fillShape(outline(spot, x, y, unit * 0.062), scale(color, 0.8), scale(color, 0.9), { alpha: 0.55 });
  }
}

/** From the inside out. */
const RAINBOW = '8c4de6 4073ff 33d980 ffe64d ff8c33 ff3340'.split(' ').map(hex);

function paintRainbow({ canvas, width, horizonY, unit }: Frame): void {
  const radius = Math.max(unit * 0.46, horizonY * 0.8);
  const band = unit * 0.085;
  canvas.eachPixel({ bottom: horizonY }, (x, y) => {
    const inside = 1 + (Math.hypot(x - width * 0.5, y - horizonY) - radius) / band;
    const alpha = 0.5 * smoothstep(0, 0.2, inside) * smoothstep(1, 0.8, inside);
    if (alpha > 0) canvas.blend(x, y, ramp(RAINBOW, inside), alpha);
  });
}

function paintClouds({ canvas, elements, palette, random, width, horizonY, unit, ...frame }: Frame): void {
  const { time, seconds, sunX, sunY } = frame;
  const { seed } = random.fork('clouds');
  const isHeavy = elements.has('rain');
  const lit = elements.get('cloud') ?? mix(palette.cloud, [0.5, 0.53, 0.6], isHeavy ? 0.7 : 0);
  const shade = mix(lit, palette.sky[1]!, isHeavy ? 0.35 : 0.55);
  const cut = isHeavy ? 0.36 : time === 'day' ? 0.53 : 0.5;
  canvas.eachPixel({ bottom: horizonY }, (x, y) => {
    const down = y / horizonY;
    const window = smoothstep(0, 0.14, down) * smoothstep(1.02, 0.75, down);
    if (window === 0) return;
    // Flatter and smaller towards the horizon, as distant clouds look.
    const u = ((x - width / 2) / unit) * (1.5 + down * 1.3) + seconds * 0.035 + 40;
    const v = down * (2.2 + 4 * down) * 1.9;
    const thick = smoothstep(cut, cut + 0.24, fractalNoise(u, v, seed, 5)) * window;
    if (thick <= 0) return;
    // If there is less cloud just above, the edge catches the light.
    const edge = smoothstep(0.02, -0.12, fractalNoise(u, v - 0.16, seed, 3) - 0.5);
    const near = clamp01(1 - Math.hypot(x - sunX, y - sunY) / (unit * 0.7));
    canvas.blend(x, y, mix(shade, mix(lit, palette.light, near * 0.6), edge), thick * (isHeavy ? 0.92 : 0.8));
  });
}

export function paintWeather(frame: Frame): void {
  if (frame.elements.has('fog')) paintFog(frame);
  if (frame.elements.has('rain')) paintRain(frame);
  if (frame.elements.has('snow')) paintSnowfall(frame);
}

function paintFog({ canvas, palette, random, height, horizonY, unit, seconds }: Frame): void {
  const { seed } = random.fork('fog');
  const color = mix(palette.mist, [0.85, 0.87, 0.9], 0.35 * palette.brightness + 0.1);
  canvas.eachPixel({ top: horizonY - height * 0.42, bottom: horizonY + height * 0.42 }, (x, y) => {
    const band = smoothstep(0.42, 0.05, Math.abs(y - horizonY) / height);
    const drift = fractalNoise((x / unit) * 1.6 + seconds * 0.05, (y / unit) * 5, seed, 4);
    canvas.blend(x, y, color, clamp01(band * (0.35 + drift * 0.85)));
  });
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
    const y = (random.next() * height + seconds * unit * (1.1 + near)) % (height + length);
    const thick = (0.4 + unit * 0.0009) / length;
    const streak = outline([0, 1, thick, 1, thick - 0.16, 0, -0.16, 0], x, y, length);
    canvas.fillShape(streak, [0.85, 0.9, 1], undefined, { alpha: 0.14 + 0.2 * near });
  }
}
