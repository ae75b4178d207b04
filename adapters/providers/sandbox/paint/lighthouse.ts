import { hex, mix, scale, smoothstep, type Color } from './color.js';
import { fillGlow, fillShape, type Fill } from './fill.js';
import type { Frame } from './frame.js';
import { noise } from './noise.js';
import { polygon, roundedBox, type Point } from './shape.js';

/** A striped tower on a headland; it stands on the side away from the sun, and shines when it is dark. */
export function paintLighthouse(frame: Frame): void {
  const { canvas, scene, width, unit, horizonY } = frame;
  const side = scene.lightX < 0.5 ? 1 : -1;
  const x = width * (0.5 + 0.24 * side);
  const groundY = horizonY - unit * 0.05;
  paintHeadland(frame, x, side);
  const dim = 0.5 + 0.5 * scene.palette.brightness;
  const towerHeight = unit * 0.31;
  const topY = groundY - towerHeight;
  const stripe = scene.elements.get('lighthouse') ?? hex('c8433f');
  const light: NonNullable<Fill['light']> = {
    color: scene.palette.light,
    from: side > 0 ? 'left' : 'right',
    strength: 0.38,
  };
  const dress = (color: Color): Fill => ({
    top: scale(color, dim),
    bottom: scale(mix(color, scene.palette.near, 0.25), dim),
    light,
  });
  const halfAt = (share: number): number => unit * (0.034 - 0.014 * share);
  for (let band = 0; band < 5; band += 1) {
    const [low, high] = [band / 5, (band + 1) / 5];
    const points: Point[] = [
      [x - halfAt(low), groundY - towerHeight * low + 1],
      [x + halfAt(low), groundY - towerHeight * low + 1],
      [x + halfAt(high), groundY - towerHeight * high],
      [x - halfAt(high), groundY - towerHeight * high],
    ];
    fillShape(canvas, polygon(points), dress(band % 2 === 0 ? hex('f2ede2') : stripe));
  }
  paintKeepersHouse(frame, x - side * unit * 0.075, groundY, dress);
  const gallery = unit * 0.03;
  fillShape(
    canvas,
    roundedBox(x - gallery, topY - unit * 0.008, x + gallery, topY + unit * 0.004, unit * 0.002),
    dress(hex('2f3440')),
  );
  const isDark = scene.palette.brightness < 0.7;
  const lamp = isDark ? hex('fff0b0') : hex('bcd6de');
  fillShape(
    canvas,
    roundedBox(x - unit * 0.0165, topY - unit * 0.042, x + unit * 0.0165, topY - unit * 0.008, unit * 0.003),
    { top: lamp },
  );
  fillShape(
    canvas,
    polygon(
      [
        [x - unit * 0.023, topY - unit * 0.041],
        [x, topY - unit * 0.068],
        [x + unit * 0.023, topY - unit * 0.041],
      ],
      unit * 0.002,
    ),
    dress(stripe),
  );
  if (isDark) paintBeam(frame, x, topY - unit * 0.025, -side);
}

function paintHeadland(frame: Frame, x: number, side: number): void {
  const { canvas, scene, width, unit, horizonY } = frame;
  const seed = scene.random.fork('headland').seed;
  const rock = mix(scene.palette.near, scene.palette.far, 0.16);
  const points: Point[] = [[side > 0 ? width + unit * 0.1 : -unit * 0.1, horizonY]];
  for (let step = 0; step <= 40; step += 1) {
    const across = 1 - step / 40;
    const px = x + side * (across * (width * 0.26 + unit * 0.2) - unit * 0.2);
    const rise = unit * 0.055 * smoothstep(0, 0.35, across) + unit * 0.05 * smoothstep(0.45, 1, across);
    points.push([
      px,
      horizonY - rise - unit * 0.022 * (noise(across * 17, 1, seed) - 0.5) * smoothstep(0, 0.2, across),
    ]);
  }
  fillShape(canvas, polygon(points), {
    top: scale(rock, 1.6),
    bottom: scale(rock, 0.8),
    light: { color: scene.palette.light, from: side > 0 ? 'left' : 'right', strength: 0.16 },
  });
}

function paintKeepersHouse(
  { canvas, scene, unit }: Frame,
  x: number,
  groundY: number,
  dress: (color: Color) => Fill,
): void {
  const half = unit * 0.026;
  const eaves = groundY - unit * 0.026;
  fillShape(canvas, roundedBox(x - half, eaves, x + half, groundY + unit * 0.012, 0), dress(hex('ece6da')));
  fillShape(
    canvas,
    polygon([
      [x - half * 1.15, eaves],
      [x - half * 0.7, eaves - unit * 0.022],
      [x + half * 0.7, eaves - unit * 0.022],
      [x + half * 1.15, eaves],
    ]),
    dress(hex('7d3f3a')),
  );
  const window = scene.palette.brightness < 0.7 ? hex('ffd98a') : hex('48586b');
  for (const shift of [-0.5, 0.35]) {
    fillShape(
      canvas,
      roundedBox(x + half * shift, eaves + unit * 0.008, x + half * (shift + 0.28), eaves + unit * 0.018, 0),
      { top: window },
    );
  }
}

function paintBeam({ canvas, scene, unit, width, seconds }: Frame, x: number, y: number, side: number): void {
  const color = hex('fff0bd');
  // The lamp turns: seen from the side, its beam grows and shrinks as it sweeps.
  const sweep = Math.cos(seconds * 1.5);
  const reach = width * 0.85 * Math.abs(sweep) + unit * 0.1;
  const facing = sweep < 0 ? -side : side;
  const strength = (0.62 - 0.5 * scene.palette.brightness) * (0.35 + 0.65 * Math.abs(sweep));
  for (let py = Math.max(0, Math.floor(y - unit * 0.4)); py < Math.min(canvas.heightPx, y + unit * 0.4); py += 1) {
    for (let px = 0; px < canvas.widthPx; px += 1) {
      const along = (px - x) * facing;
      if (along <= 0 || along > reach) continue;
      const spread = Math.abs(py - (y - along * 0.06)) / (unit * 0.008 + along * 0.085);
      if (spread < 1) canvas.glow(px, py, color, strength * smoothstep(1, 0.2, spread) * (1 - along / reach) ** 1.3);
    }
  }
  fillGlow(canvas, x, y, unit * 0.13, color, 0.85);
}
