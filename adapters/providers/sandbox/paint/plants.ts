import { hex, mix, scale, type Color } from './canvas.js';
import { crestY, type Hill } from './land.js';
import type { Random } from './random.js';
import type { Frame } from './scene.js';
import { box, circle, outline } from './shapes.js';
import { houseX } from './things.js';

/** Trees along the crest of a hill, those at the back first. */
export function paintTrees(frame: Frame, hill: Hill, count: number, size: number): void {
  const { elements, palette, time, width, unit } = frame;
  const random = frame.random.fork(`trees ${hill.level}`);
  const isBroad = frame.random.fork('broadleaf').chance(0.35) && !elements.has('snow') && !elements.has('sea');
  const autumn: Color | undefined = time === 'golden' && isBroad ? [0.75, 0.42, 0.16] : undefined;
  const own = elements.get('tree') ?? autumn;
  const sunlit = mix(palette.near, own ?? [0.2, 0.42, 0.28], 0.2 + 0.7 * palette.brightness);
  const leaf = mix(mix(palette.near, palette.far, 0.12), sunlit, own === undefined ? 0.6 : 0.95);
  const spots = Array.from({ length: count }, () => ({ across: random.next(), size: random.between(0.65, 1.25) }));
  for (const spot of spots.sort((a, b) => a.size - b.size)) {
    // Groves at the sides leave the middle open for the view.
    const away = (1 - Math.abs(2 * spot.across - 1)) ** 1.5 / 2;
    const x = (spot.across < 0.5 ? away : 1 - away) * width;
    if (elements.has('house') && Math.abs(x - houseX(frame)) < unit * 0.15 && hill.level < 0.88) continue;
    const color = scale(leaf, random.between(0.82, 1.14));
    const paint = isBroad ? paintBroadleaf : paintPine;
    paint(frame, x, crestY(frame, hill, x) + unit * 0.012, unit * size * spot.size, color, random);
  }
}

/** The parameters of both kinds: the foot of the trunk, the height of the tree, and the colour of its leaves. */
type Tree = [frame: Frame, x: number, y: number, height: number, color: Color, random: Random];

function paintPine(...[{ canvas, seconds }, x, y, height, color, random]: Tree): void {
  const sway = Math.sin(seconds * 1.3 + x * 0.05) * 0.012;
  const left = [sway, 1];
  const right: number[] = [];
  for (let tier = 1; tier <= 8; tier += 1) {
    const half = 0.21 * (tier / 8) ** 0.9 * random.between(0.88, 1.1);
    const up = 1 - (0.92 * tier) / 8;
    const center = sway * (1 - tier / 8);
    left.push(center - half, up, center - half * 0.55, up + 0.012);
    right.unshift(center + half * 0.55, up + 0.012, center + half, up);
  }
  canvas.fillShape(outline([-0.018, -0.02, 0.018, 0.12], x, y, height), scale(color, 0.6));
  canvas.fillShape(outline([...left, ...right], x, y, height), scale(color, 1.18), scale(color, 0.72), { lit: 0.14 });
}

function paintBroadleaf(...[{ canvas, seconds }, x, y, height, color, random]: Tree): void {
  const sway = Math.sin(seconds * 1.1 + x * 0.05) * 0.014;
  const tall = height * 0.85;
  canvas.fillShape(outline([-0.024, 0, 0.024, 0.5], x, y, tall), scale(color, 0.5));
  for (let clump = 0; clump < 11; clump += 1) {
    const angle = random.next() * 6.28;
    const away = Math.sqrt(random.next()) * 0.22;
    const across = sway + Math.cos(angle) * away;
    const up = 0.52 + 0.016 * clump - Math.sin(angle) * away * 0.7;
    const leaves = circle(x + across * tall, y - up * tall, tall * random.between(0.1, 0.17));
    canvas.fillShape(leaves, scale(color, 1 + 0.025 * clump), scale(color, 0.68), { lit: 0.12 });
  }
}

export function paintFlowers(frame: Frame, hill: Hill): void {
  const { canvas, elements, dim, width, height, unit, seconds } = frame;
  const random = frame.random.fork('flowers');
  const hues = ['e4483f', 'f2b632', 'f3f0e6', 'c96bc4'] as const;
  for (let flower = 0; flower < 240; flower += 1) {
    const depth = (flower + random.next()) / 240;
    const x = random.next() * width;
    const crest = crestY(frame, hill, x);
    const size = unit * (0.004 + 0.011 * depth);
    const y = crest + (height - crest) * depth ** 1.3;
    const color = scale(elements.get('flower') ?? hex(random.pick(hues)), dim * random.between(0.8, 1.1));
    const swayX = x + Math.sin(seconds * 1.8 + x * 0.03) * size * 0.5;
    canvas.fillShape(
      box(x - size * 0.1, y, x + size * 0.1, y + size * 3),
      scale(hill.color, 1.4),
      scale(hill.color, 0.7),
    );
    for (let petal = 0; petal < 5; petal += 1) {
      const angle = petal * 1.2566 + flower;
      const [petalX, petalY] = [swayX + Math.cos(angle) * size * 0.6, y + Math.sin(angle) * size * 0.45];
      canvas.fillShape(circle(petalX, petalY, size * 0.55), scale(color, 1.1), scale(color, 0.8));
    }
    canvas.fillShape(circle(swayX, y, size * 0.3), scale(hex('f7d354'), dim));
  }
}
