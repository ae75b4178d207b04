import { mix, scale, type Color } from './color.js';
import { fillShape, type Fill } from './fill.js';
import type { Frame } from './frame.js';
import { houseX } from './buildings.js';
import { crestY, type Hill } from './land.js';
import type { Random } from './random.js';
import type { Scene } from './scene.js';
import { circle, polygon, roundedBox, type Point } from './shape.js';

/** Trees along the crest of a hill, those at the back first. */
export function paintTrees(frame: Frame, hill: Hill, count: number, size: number): void {
  const { scene, width, unit } = frame;
  const random = scene.random.fork(`trees ${hill.level}`);
  const isBroad =
    scene.random.fork('broadleaf').chance(0.35) && !scene.elements.has('snow') && !scene.elements.has('sea');
  const own =
    scene.elements.get('tree') ?? (scene.time === 'golden' && isBroad ? ([0.75, 0.42, 0.16] as const) : undefined);
  const { near, far, brightness } = scene.palette;
  const leaf = mix(
    mix(near, far, 0.12),
    mix(near, own ?? [0.2, 0.42, 0.28], 0.2 + 0.7 * brightness),
    own === undefined ? 0.6 : 0.95,
  );
  const spots = Array.from({ length: count }, () => ({ x: random.next(), size: random.between(0.65, 1.25) })).sort(
    (a, b) => a.size - b.size,
  );
  for (const spot of spots) {
    // Groves at the sides leave the middle open for the view.
    const x = (spot.x < 0.5 ? spot.x ** 1.5 * Math.SQRT2 : 1 - (1 - spot.x) ** 1.5 * Math.SQRT2) * width;
    if (scene.elements.has('house') && Math.abs(x - houseX(frame)) < unit * 0.15 && hill.level < 0.88) continue;
    const y = crestY(frame, hill, x) + unit * 0.012;
    const color = scale(leaf, random.between(0.82, 1.14));
    (isBroad ? paintBroadleaf : paintPine)(frame, x, y, unit * size * spot.size, color, random);
  }
}

/** The sun's or the moon's light on something at `x`, a share of the width. */
function lightOn(scene: Scene, x: number, strength: number): NonNullable<Fill['light']> {
  return { color: scene.palette.light, from: scene.lightX < x ? 'left' : 'right', strength };
}

function paintPine(
  { canvas, scene, seconds }: Frame,
  x: number,
  y: number,
  height: number,
  color: Color,
  random: Random,
): void {
  const sway = Math.sin(seconds * 1.3 + x * 0.05) * height * 0.012;
  const left: Point[] = [];
  const right: Point[] = [];
  const tiers = 8;
  for (let tier = 0; tier < tiers; tier += 1) {
    const low = 1 - (tier + 1) / tiers;
    const half = height * 0.21 * ((tier + 1) / tiers) ** 0.9 * random.between(0.88, 1.1);
    const tipY = y - height * (0.08 + 0.92 * low);
    const lean = sway * low;
    left.push([x - half + lean, tipY], [x - half * 0.55 + lean, tipY - height * 0.012]);
    right.push([x + half + lean, tipY], [x + half * 0.55 + lean, tipY - height * 0.012]);
  }
  fillShape(canvas, roundedBox(x - height * 0.018, y - height * 0.12, x + height * 0.018, y + height * 0.02, 0), {
    top: scale(color, 0.6),
  });
  fillShape(canvas, polygon([[x + sway, y - height], ...left, ...right.reverse()]), {
    top: scale(color, 1.18),
    bottom: scale(color, 0.72),
    light: lightOn(scene, x / canvas.widthPx, 0.14),
  });
}

function paintBroadleaf(
  { canvas, scene, seconds }: Frame,
  x: number,
  y: number,
  height: number,
  color: Color,
  random: Random,
): void {
  const sway = Math.sin(seconds * 1.1 + x * 0.05) * height * 0.012;
  const tall = height * 0.85;
  fillShape(
    canvas,
    polygon([
      [x - tall * 0.03, y],
      [x - tall * 0.018, y - tall * 0.5],
      [x + tall * 0.018, y - tall * 0.5],
      [x + tall * 0.03, y],
    ]),
    { top: scale(color, 0.5) },
  );
  for (let clump = 0; clump < 11; clump += 1) {
    const angle = random.next() * 6.28;
    const away = Math.sqrt(random.next()) * tall * 0.22;
    const radius = tall * random.between(0.1, 0.17);
    const lift = clump / 10;
    fillShape(
      canvas,
      circle(x + sway + Math.cos(angle) * away, y - tall * (0.52 + 0.16 * lift) + Math.sin(angle) * away * 0.7, radius),
      {
        top: scale(color, 1 + 0.25 * lift),
        bottom: scale(color, 0.68),
        light: lightOn(scene, x / canvas.widthPx, 0.12),
      },
    );
  }
}
