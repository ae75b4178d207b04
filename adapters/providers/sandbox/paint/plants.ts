import { hex, mix, scale, type Color, type Fill } from './canvas.js';
import { crestY, type Hill } from './land.js';
import type { Frame } from './scene.js';
import type { Random } from './random.js';
import { box, circle, polygon, type Point } from './shape.js';
import { houseX } from './things.js';

/** Trees along the crest of a hill, those at the back first. */
export function paintTrees(frame: Frame, hill: Hill, count: number, size: number): void {
  const { elements, palette, time, width, unit } = frame;
  const { near, far, brightness } = palette;
  const random = frame.random.fork(`trees ${hill.level}`);
  const isBroad = frame.random.fork('broadleaf').chance(0.35) && !elements.has('snow') && !elements.has('sea');
  const own: Color | undefined =
    elements.get('tree') ?? (time === 'golden' && isBroad ? [0.75, 0.42, 0.16] : undefined);
  const green = mix(near, own ?? [0.2, 0.42, 0.28], 0.2 + 0.7 * brightness);
  const leaf = mix(mix(near, far, 0.12), green, own === undefined ? 0.6 : 0.95);
  const spots = Array.from({ length: count }, () => ({ x: random.next(), size: random.between(0.65, 1.25) }));
  for (const spot of spots.sort((a, b) => a.size - b.size)) {
    // Groves at the sides leave the middle open for the view.
    const x = (spot.x < 0.5 ? spot.x ** 1.5 * Math.SQRT2 : 1 - (1 - spot.x) ** 1.5 * Math.SQRT2) * width;
    if (elements.has('house') && Math.abs(x - houseX(frame)) < unit * 0.15 && hill.level < 0.88) continue;
    const y = crestY(frame, hill, x) + unit * 0.012;
    const color = scale(leaf, random.between(0.82, 1.14));
    (isBroad ? paintBroadleaf : paintPine)(frame, x, y, unit * size * spot.size, color, random);
  }
}

type PaintTree = (frame: Frame, x: number, y: number, height: number, color: Color, random: Random) => void;

const paintPine: PaintTree = (frame, x, y, height, color, random) => {
  const sway = Math.sin(frame.seconds * 1.3 + x * 0.05) * height * 0.012;
  const left: Point[] = [];
  const right: Point[] = [];
  for (let tier = 1; tier <= 8; tier += 1) {
    const half = height * 0.21 * (tier / 8) ** 0.9 * random.between(0.88, 1.1);
    const tipY = y - height * (0.08 + 0.92 * (1 - tier / 8));
    const center = x + sway * (1 - tier / 8);
    left.push([center - half, tipY], [center - half * 0.55, tipY - height * 0.012]);
    right.unshift([center + half * 0.55, tipY - height * 0.012], [center + half, tipY]);
  }
  const trunk = box(x - height * 0.018, y - height * 0.12, x + height * 0.018, y + height * 0.02);
  frame.canvas.fillShape(trunk, { top: scale(color, 0.6) });
  const light = lightAt(frame, x, 0.14);
  const crown = polygon([[x + sway, y - height], ...left, ...right]);
  frame.canvas.fillShape(crown, { top: scale(color, 1.18), bottom: scale(color, 0.72), light });
};

const paintBroadleaf: PaintTree = (frame, x, y, height, color, random) => {
  const sway = Math.sin(frame.seconds * 1.1 + x * 0.05) * height * 0.012;
  const tall = height * 0.85;
  const trunk = box(x - tall * 0.024, y - tall * 0.5, x + tall * 0.024, y);
  frame.canvas.fillShape(trunk, { top: scale(color, 0.5) });
  for (let clump = 0; clump < 11; clump += 1) {
    const angle = random.next() * 6.28;
    const away = Math.sqrt(random.next()) * tall * 0.22;
    const radius = tall * random.between(0.1, 0.17);
    const lift = clump / 10;
    const [clumpX, clumpY] = [Math.cos(angle) * away, Math.sin(angle) * away * 0.7 - tall * (0.52 + 0.16 * lift)];
    const fill = { top: scale(color, 1 + 0.25 * lift), bottom: scale(color, 0.68), light: lightAt(frame, x, 0.12) };
    frame.canvas.fillShape(circle(x + sway + clumpX, y + clumpY, radius), fill);
  }
};

function lightAt({ palette, lightX, width }: Frame, x: number, strength: number): NonNullable<Fill['light']> {
  return { color: palette.light, from: lightX < x / width ? 'left' : 'right', strength };
}

export function paintFlowers(frame: Frame, hill: Hill): void {
  const { canvas, elements, palette, width, height, unit, seconds } = frame;
  const random = frame.random.fork('flowers');
  const own = elements.get('flower');
  const dim = 0.45 + 0.55 * palette.brightness;
  for (let flower = 0; flower < 240; flower += 1) {
    const depth = (flower + random.next()) / 240;
    const x = random.next() * width;
    const crest = crestY(frame, hill, x);
    const size = unit * (0.004 + 0.011 * depth);
    const y = crest + (height - crest) * depth ** 1.3;
    const hue = own ?? random.pick([hex('e4483f'), hex('f2b632'), hex('f3f0e6'), hex('c96bc4')]);
    const color = scale(hue, dim * random.between(0.8, 1.1));
    const blossomX = x + Math.sin(seconds * 1.8 + x * 0.03) * size * 0.5;
    const stem = box(x - size * 0.1, y, x + size * 0.1, y + size * 3);
    canvas.fillShape(stem, { top: scale(hill.top, 1.3), bottom: scale(hill.top, 0.7) });
    for (let petal = 0; petal < 5; petal += 1) {
      const angle = petal * 1.2566 + flower;
      const [petalX, petalY] = [blossomX + Math.cos(angle) * size * 0.6, y + Math.sin(angle) * size * 0.45];
      canvas.fillShape(circle(petalX, petalY, size * 0.55), { top: scale(color, 1.1), bottom: scale(color, 0.8) });
    }
    canvas.fillShape(circle(blossomX, y, size * 0.3), { top: scale(hex('f7d354'), dim) });
  }
}
