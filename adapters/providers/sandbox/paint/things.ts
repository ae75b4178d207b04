import { hex, mix, scale, smoothstep, type Color } from './canvas.js';
import { crestY, type Hill } from './land.js';
import type { Frame } from './scene.js';
import { noise, type Random } from './random.js';
import { box, polygon, type Point } from './shape.js';

/**
 * Returns a function that fills an outline around (`x`, `y`): pairs of numbers in units of `size`, to the right and up.
 * Four numbers are a box: its left, low, right and high side. The light falls on it with `strength`.
 */
function drawAt({ canvas, palette, side }: Frame, x: number, y: number, size: number, strength: number, tilt = 0) {
  return (numbers: readonly number[], top: Color, bottom = top): void => {
    const [left, low, right, high] = numbers as [number, number, number, number];
    const pairs = numbers.length === 4 ? [left, low, right, low, right, high, left, high] : numbers;
    const points: Point[] = [];
    for (let index = 0; index < pairs.length; index += 2) {
      const [across, up] = [pairs[index]!, pairs[index + 1]!];
      points.push([x + (across - up * tilt) * size, y - (up + across * tilt) * size]);
    }
    const from = side > 0 ? 'left' : 'right';
    canvas.fillShape(polygon(points), { top, bottom, light: { color: palette.light, from, strength } });
  };
}

/** The house is on the side away from the sun, so that its lit side is seen. */
export function houseX({ side, width }: Frame): number {
  return width * (0.5 + 0.17 * side);
}

/** A small house on a hill, with smoke above its chimney. Its windows are lit when it is dark. */
export function paintHouse(frame: Frame, hill: Hill): void {
  const { canvas, elements, palette, unit, seconds } = frame;
  const x = houseX(frame);
  const y = crestY(frame, hill, x) + unit * 0.015;
  const dim = 0.42 + 0.58 * palette.brightness;
  const wall = scale(elements.get('house') ?? hex('e8dcc6'), dim);
  const roof = scale(mix(hex('6d3b35'), palette.near, 0.3), dim);
  for (let puff = 0; puff < 8; puff += 1) {
    const age = (puff / 8 + seconds * 0.12) % 1;
    const right = 0.047 + age * 0.07 + Math.sin(age * 7 + puff) * 0.006;
    const up = 0.185 + age * 0.15;
    canvas.fillGlow(x + unit * right, y - unit * up, unit * (0.018 + age * 0.04), [0.9, 0.9, 0.95], 0.3 * (1 - age));
  }
  const draw = drawAt(frame, x, y, unit, 0.3);
  draw([0.037, 0.09, 0.056, 0.185], roof);
  draw([-0.085, -0.01, 0.085, 0.09], wall, scale(wall, 0.75));
  draw([-0.1, 0.086, -0.061, 0.167, 0.061, 0.167, 0.1, 0.086], scale(roof, 1.25), scale(roof, 0.85));
  const isDark = palette.brightness < 0.7;
  const pane = hex(isDark ? 'ffd987' : '5b7386');
  for (const left of [-0.053, 0.032]) {
    draw([left, 0.035, left + 0.026, 0.064], pane, scale(pane, 0.9));
    draw([left + 0.012, 0.035, left + 0.014, 0.064], scale(wall, 0.6));
    if (isDark) canvas.fillGlow(x + unit * (left + 0.013), y - unit * 0.05, unit * 0.085, hex('ffc766'), 0.4);
  }
  draw([-0.014, -0.01, 0.014, 0.056], scale(roof, 0.9));
}

/** Rows of towers along the horizon; distant rows are pale. */
export function paintCity({ canvas, elements, palette, random: scene, width, unit, horizonY, seconds }: Frame): void {
  const isDark = palette.brightness < 0.7;
  const step = unit * 0.0145;
  for (let row = 0; row < 3; row += 1) {
    const random = scene.fork(`city ${row}`);
    const near = row / 2;
    const mist = palette.sky.at(-1)!;
    const base = mix(mix(mist, palette.far, 0.65), elements.get('city') ?? mix(palette.near, palette.far, 0.2), near);
    const windows = isDark
      ? { top: hex('ffdf94'), alpha: 0.35 + 0.4 * near }
      : { top: mix(base, [1, 1, 1], 0.28), alpha: 0.4 };
    for (let x = -unit * 0.05; x < width;) {
      const wide = unit * random.between(0.045, 0.1);
      const center = 1 - Math.abs((x + wide / 2) / width - 0.5) * 1.3;
      const top = horizonY - unit * (0.06 + random.next() ** 1.6 * 0.42 * center) * (1.05 - 0.3 * near);
      canvas.fillShape(box(x, top, x + wide, horizonY + 1), { top: scale(base, 1.1), bottom: mix(base, mist, 0.3) });
      if (random.chance(0.25))
        canvas.fillShape(box(x + wide * 0.47, top - unit * 0.06, x + wide * 0.53, top), { top: base });
      for (let windowY = top + step; windowY < horizonY - step; windowY += step * 1.3)
        for (let windowX = x + step * 0.6; windowX < x + wide - step * 0.9; windowX += step)
          if (isLit(random, seconds))
            canvas.fillShape(box(windowX, windowY, windowX + step * 0.45, windowY + step * 0.65), windows);
      x += wide * random.between(0.95, 1.25);
    }
  }
}

/** Half of the windows are lit, and some blink. */
function isLit(random: Random, seconds: number): boolean {
  const isOff = random.next() > 0.5;
  const blink = random.next();
  return !isOff && !(blink > 0.96 && Math.floor(seconds * 1.5 + blink * 60) % 3 === 0);
}

/** A striped tower on a headland, on the side away from the sun. It shines when it is dark. */
export function paintLighthouse(frame: Frame): void {
  const { elements, palette, width, unit, horizonY, side } = frame;
  const x = width * (0.5 + 0.24 * side);
  const y = horizonY - unit * 0.05;
  const isDark = palette.brightness < 0.7;
  const dim = 0.5 + 0.5 * palette.brightness;
  paintHeadland(frame, x);
  const draw = drawAt(frame, x, y, unit, 0.38);
  const dress = (numbers: readonly number[], color: Color, to = draw): void =>
    to(numbers, scale(color, dim), scale(mix(color, palette.near, 0.25), dim));
  const stripe = elements.get('lighthouse') ?? hex('c8433f');
  for (let band = 0; band < 5; band += 1) {
    const [low, high] = [0.034 - 0.0028 * band, 0.0312 - 0.0028 * band];
    const [foot, head] = [0.062 * band - 0.002, 0.062 * (band + 1)];
    dress([-low, foot, low, foot, high, head, -high, head], band % 2 === 0 ? hex('f2ede2') : stripe);
  }
  const keeper = drawAt(frame, x - side * unit * 0.075, y, unit, 0.38);
  dress([-0.026, -0.012, 0.026, 0.026], hex('ece6da'), keeper);
  dress([-0.03, 0.026, -0.018, 0.048, 0.018, 0.048, 0.03, 0.026], hex('7d3f3a'), keeper);
  for (const left of [-0.013, 0.009]) keeper([left, 0.008, left + 0.007, 0.018], hex(isDark ? 'ffd98a' : '48586b'));
  dress([-0.03, 0.306, 0.03, 0.318], hex('2f3440'));
  draw([-0.0165, 0.318, 0.0165, 0.352], hex(isDark ? 'fff0b0' : 'bcd6de'));
  dress([-0.024, 0.35, 0, 0.38, 0.024, 0.35], stripe);
  if (isDark) paintBeam(frame, x, y - unit * 0.335);
}

function paintHeadland(frame: Frame, x: number): void {
  const { palette, random, side, width, unit, horizonY } = frame;
  const { seed } = random.fork('headland');
  const rock = mix(palette.near, palette.far, 0.16);
  const numbers = [side * (0.5 + width / unit), 0];
  for (let step = 40; step >= 0; step -= 1) {
    const across = step / 40;
    const bumps = 0.022 * (noise(across * 17, 1, seed) - 0.5) * smoothstep(0, 0.2, across);
    const rise = 0.055 * smoothstep(0, 0.35, across) + 0.05 * smoothstep(0.45, 1, across) + bumps;
    numbers.push(side * (across * (0.26 * (width / unit) + 0.2) - 0.2), rise);
  }
  drawAt(frame, x, horizonY, unit, 0.16)(numbers, scale(rock, 1.6), scale(rock, 0.8));
}

/** The lamp turns: seen from the side, its beam grows and shrinks as it sweeps. */
function paintBeam({ canvas, palette, unit, width, height, seconds, side }: Frame, x: number, y: number): void {
  const color = hex('fff0bd');
  const sweep = Math.cos(seconds * 1.5);
  const reach = width * 0.85 * Math.abs(sweep) + unit * 0.1;
  const facing = sweep < 0 ? side : -side;
  const strength = (0.62 - 0.5 * palette.brightness) * (0.35 + 0.65 * Math.abs(sweep));
  for (let py = Math.max(0, Math.floor(y - unit * 0.4)); py < Math.min(height, y + unit * 0.4); py += 1) {
    for (let px = 0; px < width; px += 1) {
      const along = (px - x) * facing;
      if (along <= 0 || along > reach) continue;
      const spread = Math.abs(py - (y - along * 0.06)) / (unit * 0.008 + along * 0.085);
      if (spread < 1) canvas.glow(px, py, color, strength * smoothstep(1, 0.2, spread) * (1 - along / reach) ** 1.3);
    }
  }
  canvas.fillGlow(x, y, unit * 0.13, color, 0.85);
}

/** A sailing boat on the water line, rocking. */
export function paintBoat(frame: Frame): void {
  const { elements, palette, side, width, unit, horizonY, seconds, progress } = frame;
  const hasTower = elements.has('lighthouse');
  const x = width * (0.5 + (hasTower ? -0.12 : 0.14) * side - side * 0.05 * progress);
  const dim = 0.5 + 0.5 * palette.brightness;
  const size = unit * (hasTower ? 0.11 : 0.17);
  const draw = drawAt(frame, x, horizonY - unit * 0.004, size, 0.3, Math.sin(seconds * 1.7) * 0.05);
  const dress = (numbers: readonly number[], top: Color, bottom: Color): void =>
    draw(numbers, scale(top, dim), scale(bottom, dim));
  const hull = elements.get('boat') ?? hex('7a3b32');
  dress([-0.02, 0.1, 0.01, 1.12], hex('4a3a30'), hex('4a3a30'));
  dress([-0.04, 0.2, -0.04, 1.06, -0.28, 0.55, -0.5, 0.22], hex('fbf3e2'), hex('e3cfae'));
  dress([0.03, 0.2, 0.03, 0.95, 0.25, 0.5, 0.38, 0.2], hex('f5e7cd'), hex('d3ba96'));
  dress([-0.57, 0.17, 0.57, 0.18, 0.37, -0.04, -0.39, -0.04], hull, scale(hull, 0.55));
}

export function paintBirds({ canvas, elements, palette, random: scene, width, unit, horizonY, seconds }: Frame): void {
  const random = scene.fork('birds');
  const centerX = width * random.between(0.35, 0.65);
  const centerY = horizonY * random.between(0.3, 0.5);
  const color = elements.get('bird') ?? mix(palette.near, palette.far, 0.25);
  for (let bird = 0; bird < 7; bird += 1) {
    const x = centerX + random.between(-0.16, 0.16) * unit + seconds * unit * 0.03;
    const y = centerY + random.between(-0.07, 0.07) * unit;
    const size = unit * random.between(0.011, 0.022);
    const lift = 0.45 + 0.4 * Math.sin(seconds * random.between(5, 7) + bird * 2);
    const wing = [0, -0.12, 0.5, lift, 1.1, lift * 0.55, 0.5, lift - 0.22, 0, -0.3];
    for (const side of [-1, 1]) {
      const points = [0, 2, 4, 6, 8].map((at): Point => [x + side * size * wing[at]!, y - size * wing[at + 1]!]);
      canvas.fillShape(polygon(points), { top: color, alpha: 0.85 });
    }
  }
}
