import { clamp01, mix, ramp, scale, smoothstep, type Color } from './color.js';
import { fillGlow, fillShape } from './fill.js';
import type { Frame } from './frame.js';
import { fractalNoise, noise } from './noise.js';
import { circle } from './shape.js';

export function paintSky(frame: Frame): void {
  paintGradient(frame);
  if (frame.scene.elements.has('stars')) paintStars(frame);
  if (frame.scene.elements.has('aurora')) paintAurora(frame);
  paintLights(frame);
  if (frame.scene.elements.has('rainbow')) paintRainbow(frame);
  if (frame.scene.elements.has('cloud') || frame.scene.elements.has('rain')) paintClouds(frame);
}

function paintGradient({ canvas, scene, width, height, horizonY, lightX }: Frame): void {
  for (let y = 0; y < height; y += 1) {
    const position = clamp01(y / horizonY) ** 1.15;
    const color = ramp(scene.palette.sky, position);
    for (let x = 0; x < width; x += 1) {
      // Warmer towards the light, near the horizon.
      const near = clamp01(1 - Math.abs(x - lightX) / width) ** 2 * position ** 3 * 0.25;
      canvas.blend(x, y, color, 1);
      canvas.blend(x, y, scene.palette.light, near);
    }
  }
}

function paintStars({ canvas, scene, width, unit, horizonY, seconds }: Frame): void {
  const random = scene.random.fork('stars');
  for (let star = 0; star < 260; star += 1) {
    const x = random.next() * width;
    const y = random.next() ** 1.4 * horizonY * 0.95;
    const size = random.next() ** 6;
    const phase = random.next() * 6.28;
    const tint = mix([0.75, 0.85, 1], [1, 0.92, 0.8], random.next());
    const twinkle = 0.8 + 0.2 * Math.sin(phase + seconds * (2 + size * 3));
    const fadeDown = 1 - (y / horizonY) ** 2;
    fillGlow(canvas, x, y, unit * (0.003 + 0.016 * size) + 0.9, tint, (0.55 + 0.45 * size) * twinkle * fadeDown * 1.6);
  }
}

function paintAurora({ canvas, scene, width, horizonY, seconds }: Frame): void {
  const seed = scene.random.fork('aurora').seed;
  const color = scene.elements.get('aurora') ?? [0.2, 0.95, 0.6];
  for (let x = 0; x < width; x += 1) {
    const across = (x / width) * 3;
    const base =
      0.32 + 0.35 * noise(across * 0.7 + seconds * 0.05, 1, seed) + 0.06 * noise(across * 3 + seconds * 0.1, 2, seed);
    const rays = 0.45 + 0.55 * noise(across * 22 + seconds * 0.3, seconds * 0.2, seed);
    const bright = smoothstep(0.2, 0.8, noise(across * 1.3, 5 + seconds * 0.08, seed)) * 0.8 + 0.2;
    for (let y = 0; y < horizonY; y += 1) {
      const up = base + 0.22 - y / horizonY;
      if (up < 0) continue;
      const curtain = smoothstep(0, 0.05, up) * Math.exp(-up * 4.2) * rays * bright;
      canvas.glow(x, y, mix(color, [0.6, 0.25, 0.9], clamp01(up * 1.6)), curtain * 0.85);
    }
  }
}

function paintLights(frame: Frame): void {
  const { scene, lightX, lightY, unit } = frame;
  const hasSun = scene.elements.has('sun');
  if (hasSun) paintSun(frame, lightX, lightY, scene.elements.get('sun') ?? scene.palette.light);
  // With both in one sky, the moon takes the other side.
  if (scene.elements.has('moon'))
    paintMoon(
      frame,
      hasSun ? frame.width - lightX : lightX,
      Math.min(lightY, unit * 0.24),
      scene.elements.get('moon') ?? [0.96, 0.95, 0.9],
    );
}

function paintSun({ canvas, scene, unit }: Frame, x: number, y: number, color: Color): void {
  const isLow = scene.time !== 'day';
  fillGlow(canvas, x, y, unit * 0.85, color, isLow ? 0.6 : 0.45);
  fillGlow(canvas, x, y, unit * 0.26, color, 0.85);
  fillShape(canvas, circle(x, y, unit * (isLow ? 0.075 : 0.055)), {
    top: mix(color, [1, 1, 1], 0.55),
    bottom: mix(color, [1, 1, 1], 0.1),
  });
}

function paintMoon({ canvas, scene, unit }: Frame, x: number, y: number, color: Color): void {
  const radius = unit * 0.062;
  const random = scene.random.fork('moon');
  fillGlow(canvas, x, y, unit * 0.55, color, 0.35);
  fillGlow(canvas, x, y, unit * 0.17, color, 0.5);
  fillShape(canvas, circle(x, y, radius), { top: scale(color, 1.04), bottom: scale(color, 0.93) });
  for (let crater = 0; crater < 7; crater += 1) {
    const angle = random.next() * 6.28;
    const away = Math.sqrt(random.next()) * 0.72 * radius;
    const size = radius * random.between(0.08, 0.22);
    fillShape(canvas, circle(x + Math.cos(angle) * away, y + Math.sin(angle) * away, size), {
      top: scale(color, 0.8),
      bottom: scale(color, 0.9),
      alpha: 0.55,
    });
  }
}

function paintRainbow({ canvas, width, horizonY, unit }: Frame): void {
  const stops: Color[] = [
    [0.55, 0.3, 0.9],
    [0.25, 0.45, 1],
    [0.2, 0.85, 0.5],
    [1, 0.9, 0.3],
    [1, 0.55, 0.2],
    [1, 0.2, 0.25],
  ];
  const outer = Math.max(unit * 0.46, horizonY * 0.8);
  const band = unit * 0.085;
  for (let y = 0; y < horizonY; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const inside = (Math.hypot(x - width * 0.5, y - horizonY) - outer + band) / band;
      if (inside > 0 && inside < 1)
        canvas.blend(x, y, ramp(stops, inside), 0.5 * smoothstep(0, 0.2, inside) * smoothstep(1, 0.8, inside));
    }
  }
}

function paintClouds({ canvas, scene, width, horizonY, unit, seconds, lightX, lightY }: Frame): void {
  const seed = scene.random.fork('clouds').seed;
  const isHeavy = scene.elements.has('rain');
  const lit =
    scene.elements.get('cloud') ?? (isHeavy ? mix(scene.palette.cloud, [0.5, 0.53, 0.6], 0.7) : scene.palette.cloud);
  const shade = mix(lit, scene.palette.sky[1]!, isHeavy ? 0.35 : 0.55);
  const cut = isHeavy ? 0.36 : scene.time === 'day' ? 0.53 : 0.5;
  for (let y = 0; y < horizonY; y += 1) {
    const down = y / horizonY;
    // Flatter and smaller towards the horizon, as far clouds look.
    const stretch = 2.2 + 4 * down;
    const window = smoothstep(0, 0.14, down) * smoothstep(1.02, 0.75, down);
    if (window === 0) continue;
    for (let x = 0; x < width; x += 1) {
      const u = ((x - width / 2) / unit) * (1.5 + down * 1.3) + seconds * 0.035;
      const v = down * stretch * 1.9;
      const thick = smoothstep(cut, cut + 0.24, fractalNoise(u + 40, v, seed, 5)) * window;
      if (thick <= 0) continue;
      // Less cloud just above: the edge that catches the light.
      const edge = smoothstep(0.02, -0.12, fractalNoise(u + 40, v - 0.16, seed, 3) - 0.5);
      const near = clamp01(1 - Math.hypot(x - lightX, y - lightY) / (unit * 0.7));
      canvas.blend(x, y, mix(shade, mix(lit, scene.palette.light, near * 0.6), edge), thick * (isHeavy ? 0.92 : 0.8));
    }
  }
}
