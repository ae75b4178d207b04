import { box, hex, mix, outline, scale, smoothstep, type Color } from './canvas.js';
import { crestY, type Hill } from './land.js';
import type { Frame } from './scene.js';

/** The parts of a thing, back to front: a colour or its name, and an outline in units of the thing's size. */
type Parts = readonly (readonly [color: string, numbers: readonly number[]])[];

const HOUSE: Parts = [
  ['roof', [0.037, 0.09, 0.056, 0.185]],
  ['wall', [-0.085, -0.01, 0.085, 0.09]],
  ['roof', [-0.1, 0.086, -0.061, 0.167, 0.061, 0.167, 0.1, 0.086]],
  ['glass', [-0.053, 0.035, -0.027, 0.064]],
  ['roof', [-0.041, 0.035, -0.039, 0.064]],
  ['glass', [0.032, 0.035, 0.058, 0.064]],
  ['roof', [0.044, 0.035, 0.046, 0.064]],
  ['roof', [-0.014, -0.01, 0.014, 0.056]],
];

const TOWER: Parts = [
  ['wall', [-0.034, -0.002, 0.034, -0.002, 0.031, 0.062, -0.031, 0.062]],
  ['stripe', [-0.031, 0.06, 0.031, 0.06, 0.028, 0.124, -0.028, 0.124]],
  ['wall', [-0.028, 0.122, 0.028, 0.122, 0.025, 0.186, -0.025, 0.186]],
  ['stripe', [-0.025, 0.184, 0.025, 0.184, 0.022, 0.248, -0.022, 0.248]],
  ['wall', [-0.022, 0.246, 0.022, 0.246, 0.02, 0.31, -0.02, 0.31]],
  ['2f3440', [-0.03, 0.306, 0.03, 0.318]],
  ['glass', [-0.0165, 0.318, 0.0165, 0.352]],
  ['stripe', [-0.024, 0.35, 0, 0.38, 0.024, 0.35]],
];

const BOAT: Parts = [
  ['4a3a30', [-0.02, 0.1, 0.01, 1.12]],
  ['fbf3e2', [-0.04, 0.2, -0.04, 1.06, -0.28, 0.55, -0.5, 0.22]],
  ['fbf3e2', [0.03, 0.2, 0.03, 0.95, 0.25, 0.5, 0.38, 0.2]],
  ['hull', [-0.57, 0.17, 0.57, 0.18, 0.37, -0.04, -0.39, -0.04]],
];

/** Trees have a height of one. */
const PINE: Parts = [
  ['trunk', [-0.02, -0.02, 0.02, 0.14]],
  ['leaf', [-0.21, 0.1, 0, 0.07, 0.21, 0.1, 0, 0.46]],
  ['leaf', [-0.18, 0.25, 0, 0.22, 0.18, 0.25, 0, 0.6]],
  ['leaf', [-0.145, 0.4, 0, 0.37, 0.145, 0.4, 0, 0.74]],
  ['leaf', [-0.11, 0.55, 0, 0.52, 0.11, 0.55, 0, 0.88]],
  ['leaf', [-0.075, 0.7, 0, 0.67, 0.075, 0.7, 0, 1]],
];

const BROADLEAF: Parts = [
  ['trunk', [-0.022, 0, 0.022, 0.45]],
  ['shade', [-0.15, 0.43, 0.12]],
  ['shade', [0.14, 0.45, 0.13]],
  ['shade', [0, 0.41, 0.13]],
  ['leaf', [-0.12, 0.56, 0.13]],
  ['leaf', [0.11, 0.59, 0.12]],
  ['leaf', [0.01, 0.53, 0.13]],
  ['leaf', [-0.02, 0.69, 0.13]],
];

const FLOWER: Parts = [
  ['stem', [-0.1, -3, 0.1, 0]],
  ['petal', [-0.35, -0.4, 0.5]],
  ['petal', [0.35, -0.4, 0.5]],
  ['petal', [-0.55, 0.15, 0.5]],
  ['petal', [0.55, 0.15, 0.5]],
  ['petal', [0, 0.5, 0.5]],
  ['f7d354', [0, 0, 0.3]],
];

const HEADLAND = [
  -0.2, 0, -0.16, 0.014, -0.12, 0.032, -0.05, 0.05, 0.02, 0.057, 0.08, 0.056, 0.15, 0.075, 0.22, 0.083, 0.3, 0.102, 0.4,
  0.1, 5, 0.11, 5, 0,
];
const LAMP = hex('fff0bd');

/** The colours that a prompt can replace; other parts have theirs. */
const COLORS: Readonly<Record<string, string>> = { wall: 'efe6d6', roof: '73403b', stripe: 'c8433f', hull: '7a3b32' };

/** Paints a thing around (`x`, `y`). `own` replaces colours. Windows are lit when it is dark. */
function paintThing(
  { canvas, dim, isDark }: Frame,
  parts: Parts,
  [x, y, size, tilt = 0]: readonly [x: number, y: number, size: number, tilt?: number],
  own: Readonly<Record<string, Color | undefined>> = {},
): void {
  for (const [name, numbers] of parts) {
    const shape = outline(numbers, x, y, size, tilt);
    if (name === 'glass') {
      canvas.fillShape(shape, hex(isDark ? 'ffdf94' : '6a8294'));
      const [centerX, centerY] = [(shape.left + shape.right) / 2, (shape.top + shape.bottom) / 2];
      if (isDark) canvas.fillGlow(centerX, centerY, 3.5 * (shape.right - shape.left), hex('ffc766'), 0.5);
    } else {
      const color = scale(own[name] ?? hex(COLORS[name] ?? name), dim);
      canvas.fillShape(shape, color, scale(color, 0.7), { lit: 0.2 });
    }
  }
}

/** Trees along the crest of a hill, those at the back first; fewer and larger ones in the front rows. */
export function paintTrees(frame: Frame, hill: Hill, row: number): void {
  const { elements, palette, time, width, unit, seconds } = frame;
  const random = frame.random.fork(`trees ${hill.level}`);
  const isBroad = frame.random.fork('broadleaf').chance(0.35) && !elements.has('snow') && !elements.has('sea');
  const autumn: Color | undefined = time === 'golden' && isBroad ? [0.75, 0.42, 0.16] : undefined;
  const own = elements.get('tree') ?? autumn;
  const sunlit = mix(palette.near, own ?? [0.2, 0.42, 0.28], 0.2 + 0.7 * palette.brightness);
  const green = mix(mix(palette.near, palette.far, 0.12), sunlit, own === undefined ? 0.6 : 0.95);
  const spots = Array.from({ length: 26 - 6 * row }, () => ({
    across: random.next(),
    size: random.between(0.65, 1.25),
  }));
  for (const spot of spots.sort((a, b) => a.size - b.size)) {
    // Groves at the sides leave the middle open for the view.
    const away = (1 - Math.abs(2 * spot.across - 1)) ** 1.5 / 2;
    const x = (spot.across < 0.5 ? away : 1 - away) * width;
    if (elements.has('house') && Math.abs(x - houseX(frame)) < unit * 0.15 && hill.level < 0.88) continue;
    const place = [x, crestY(frame, hill, x) + unit * 0.012, unit * (0.09 + 0.08 * row) * spot.size] as const;
    const leaf = scale(green, random.between(0.95, 1.3));
    const sway = Math.sin(seconds * 1.3 + x * 0.05) * 0.012;
    const colors = { leaf, shade: scale(leaf, 0.85), trunk: scale(leaf, 0.5) };
    // The light of the hour is in these colours already.
    paintThing({ ...frame, dim: 1 }, isBroad ? BROADLEAF : PINE, [...place, sway], colors);
  }
}

export function paintFlowers(frame: Frame, hill: Hill): void {
  const { elements, width, height, unit, seconds } = frame;
  const random = frame.random.fork('flowers');
  for (let flower = 0; flower < 240; flower += 1) {
    const depth = (flower + random.next()) / 240;
    const x = random.next() * width;
    const crest = crestY(frame, hill, x);
    const size = unit * (0.004 + 0.011 * depth);
    const color = elements.get('flower') ?? hex(random.pick(['e4483f', 'f2b632', 'f3f0e6', 'c96bc4']));
    const petal = scale(color, random.between(0.85, 1.15));
    const sway = random.between(-0.4, 0.4) + Math.sin(seconds * 1.8 + x * 0.03) * 0.15;
    paintThing(frame, FLOWER, [x, crest + (height - crest) * depth ** 1.3, size, sway], { petal, stem: hill.color });
  }
}

/** The house is on the side away from the sun, so that its lit side is seen. */
function houseX({ side, width }: Frame): number {
  return width * (0.5 + 0.17 * side);
}

/** A small house on a hill, with smoke above its chimney. */
export function paintHouse(frame: Frame, hill: Hill): void {
  const { canvas, elements, unit, seconds } = frame;
  const x = houseX(frame);
  const y = crestY(frame, hill, x) + unit * 0.015;
  for (let puff = 0; puff < 8; puff += 1) {
    const age = (puff / 8 + seconds * 0.12) % 1;
    const right = 0.047 + age * 0.07 + Math.sin(age * 7 + puff) * 0.006;
    const [puffX, puffY] = [x + unit * right, y - unit * (0.185 + age * 0.15)];
    canvas.fillGlow(puffX, puffY, unit * (0.018 + age * 0.04), [0.9, 0.9, 0.95], 0.3 * (1 - age));
  }
  paintThing(frame, HOUSE, [x, y, unit], { wall: elements.get('house') });
}

/** Rows of towers along the horizon; distant rows are pale. Half of their windows are lit. */
export function paintCity(frame: Frame): void {
  const { canvas, elements, palette, isDark, random: scene, width, unit, horizonY, seconds } = frame;
  const step = unit * 0.0145;
  for (let row = 0; row < 3; row += 1) {
    const random = scene.fork(`city ${row}`);
    const near = row / 2;
    const nearest = elements.get('city') ?? mix(palette.near, palette.far, 0.2);
    const base = mix(mix(palette.mist, palette.far, 0.65), nearest, near);
    const pane = isDark ? hex('ffdf94') : mix(base, [1, 1, 1], 0.28);
    for (let x = -unit * 0.05; x < width;) {
      const wide = unit * random.between(0.045, 0.1);
      const center = 1 - Math.abs((x + wide / 2) / width - 0.5) * 1.3;
      const top = horizonY - unit * (0.06 + random.next() ** 1.6 * 0.42 * center) * (1.05 - 0.3 * near);
      canvas.fillShape(box(x, top, x + wide, horizonY + 1), scale(base, 1.1), mix(base, palette.mist, 0.3));
      if (random.chance(0.25)) canvas.fillShape(box(x + wide * 0.47, top - unit * 0.06, x + wide * 0.53, top), base);
      for (let windowY = top + step; windowY < horizonY - step; windowY += step * 1.3)
        for (let windowX = x + step * 0.6; windowX < x + wide - step * 0.9; windowX += step) {
          const [isOn, blink] = [random.chance(0.5), random.next()];
          if (!isOn || (blink > 0.96 && Math.floor(seconds * 1.5 + blink * 60) % 3 === 0)) continue;
          const shape = box(windowX, windowY, windowX + step * 0.45, windowY + step * 0.65);
          canvas.fillShape(shape, pane, pane, { alpha: 0.35 + 0.4 * near });
        }
      x += wide * random.between(0.95, 1.25);
    }
  }
}

/** A striped tower on a headland, on the side away from the sun. It shines when it is dark. */
export function paintLighthouse(frame: Frame): void {
  const { canvas, elements, palette, isDark, width, unit, horizonY, side } = frame;
  const x = width * (0.5 + 0.24 * side);
  const y = horizonY - unit * 0.05;
  const rock = mix(palette.near, palette.far, 0.16);
  const headland = HEADLAND.map((number, index) => (index % 2 === 0 ? side * number : number));
  canvas.fillShape(outline(headland, x, horizonY, unit), scale(rock, 1.6), scale(rock, 0.8), { lit: 0.16 });
  paintThing(frame, TOWER, [x, y, unit], { stripe: elements.get('lighthouse') });
  paintThing(frame, HOUSE, [x - side * unit * 0.075, y, unit * 0.3]);
  if (isDark) paintBeam(frame, x, y - unit * 0.335);
}

/** The lamp turns: seen from the side, its beam grows and shrinks as it sweeps. */
function paintBeam({ canvas, palette, unit, width, seconds, side }: Frame, x: number, y: number): void {
  const sweep = -side * Math.cos(seconds * 1.5);
  const reach = width * 0.85 * Math.abs(sweep) + unit * 0.1;
  const strength = (0.62 - 0.5 * palette.brightness) * (0.35 + 0.65 * Math.abs(sweep));
  canvas.eachPixel({ top: y - unit * 0.4, bottom: y + unit * 0.4 }, (px, py) => {
    const along = (px - x) * Math.sign(sweep);
    if (along <= 0 || along > reach) return;
    const spread = Math.abs(py - y + along * 0.06) / (unit * 0.008 + along * 0.085);
    canvas.blend(px, py, LAMP, strength * smoothstep(1, 0.2, spread) * (1 - along / reach) ** 1.3);
  });
  canvas.fillGlow(x, y, unit * 0.13, LAMP, 0.85);
}

/** A sailing boat on the water line, rocking. */
export function paintBoat(frame: Frame): void {
  const { elements, side, width, unit, horizonY, seconds, progress } = frame;
  const hasTower = elements.has('lighthouse');
  const x = width * (0.5 + (hasTower ? -0.12 : 0.14) * side - side * 0.05 * progress);
  const place = [x, horizonY - unit * 0.004, unit * (hasTower ? 0.11 : 0.17), Math.sin(seconds * 1.7) * 0.05] as const;
  paintThing(frame, BOAT, place, { hull: elements.get('boat') });
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
    const upper = [-1.1, lift * 0.55, -0.5, lift, 0, -0.12, 0.5, lift, 1.1, lift * 0.55];
    const lower = [0.5, lift - 0.22, 0, -0.3, -0.5, lift - 0.22];
    canvas.fillShape(outline([...upper, ...lower], x, y, size), color, color, { alpha: 0.85 });
  }
}
