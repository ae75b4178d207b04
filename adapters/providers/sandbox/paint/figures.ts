import { clamp01, hex, mix, scale, smoothstep, type Color } from './canvas.js';
import type { FigureKind } from './prompt.js';
import type { Frame } from './scene.js';
import { box, circle, curve, type Shape } from './shapes.js';

const WALLS = ['f6e7d4 e9b8a0', 'dfe9f3 9db8d9', 'f3e4ef c4a3d6', 'e8f1e4 9cc7b2', '2c3557 151a33'] as const;
const COLORS = ['f2605c', 'f6b83c', '3fa7d6', '59cd90', '8f6be8', 'ee7fb1', 'fac05e', '3cc4bd', 'e85d9a'].map(hex);
const WHITE: Color = [1, 1, 1];

/** A studio wall that curves into a floor, lit from one side, for figures to float in front of. */
export function paintStudio({ canvas, random, width, height, unit, lightX }: Frame): void {
  const [light, deep] = random.fork('studio').pick(WALLS).split(' ').map(hex) as [Color, Color];
  canvas.eachPixel({}, (x, y) => {
    const down = y / height;
    const away = clamp01(Math.hypot(x - lightX * width, y - height * 0.25) / (unit * 1.15));
    const floor = mix(light, deep, 0.37 + 0.3 * clamp01((down - 0.7) / 0.3));
    canvas.blend(x, y, mix(mix(light, deep, away ** 1.2), floor, smoothstep(0.64, 0.76, down)), 1);
  });
}

/** The geometric figures that a prompt names, in rows, gently bobbing. */
export function paintFigures(frame: Frame): void {
  const { canvas, figures, random, width, height, unit, horizonY, seconds } = frame;
  const isStill = frame.kind === 'still life';
  const columns = figures.length > 4 ? Math.ceil(figures.length / 2) : figures.length;
  const rows = Math.ceil(figures.length / columns);
  const size = Math.min((width * 0.34) / columns, (unit * (isStill ? 0.26 : 0.13)) / rows) * (isStill ? 1 : 0.8);
  const centerY = isStill ? height * 0.45 : horizonY * 0.46;
  const start = Math.floor(random.fork('figures').next() * COLORS.length);
  figures.forEach(({ kind, color: own }, index) => {
    const color = own ?? COLORS[(start + index) % COLORS.length]!;
    const row = Math.floor(index / columns);
    const inRow = Math.min(columns, figures.length - row * columns);
    const x = width / 2 + ((index % columns) - (inRow - 1) / 2) * size * 2.4;
    const bob = Math.sin(seconds * 1.6 + index * 1.1) * size * 0.06;
    const y = centerY + (row - (rows - 1) / 2) * size * 2.4 + bob;
    if (!isStill) canvas.fillGlow(x, y, size * 2, color, 0.4);
    paintFigure(frame, SHAPES[kind](x, y, size), color, size);
    const shadow = curve(24, x, height * 0.78, size * 0.7, (angle) => [Math.sin(angle), Math.cos(angle) * 0.06]);
    if (isStill && row === rows - 1) canvas.fillShape(shadow, SHADOW, SHADOW, { alpha: 0.25, blurPx: size * 0.12 });
  });
}

const SHADOW: Color = [0.03, 0.02, 0.08];

const SHAPES: Readonly<Record<FigureKind, (x: number, y: number, size: number) => Shape>> = {
  circle,
  square: (x, y, size) => box(x - size * 0.9, y - size * 0.9, x + size * 0.9, y + size * 0.9),
  triangle: (x, y, size) => regular(3, x, y + size * 0.18, size * 1.15),
  star: (x, y, size) => regular(10, x, y, size * 1.12, 0.45),
  heart: (x, y, size) => curve(56, x, y, size / 17, heartAt),
  diamond: (x, y, size) => regular(4, x, y, size * 1.1),
  hexagon: (x, y, size) => regular(6, x, y, size),
  ring: (x, y, size) => {
    const disc = circle(x, y, size);
    return { ...disc, distance: (px, py) => Math.abs(disc.distance(px, py) + size * 0.17) - size * 0.17 };
  },
};

/** A regular polygon with one corner up. Every second corner is at the share `waist` of the radius: a star. */
function regular(corners: number, x: number, y: number, size: number, waist = 1): Shape {
  return curve(corners, x, y, size, (angle, index) => {
    const away = index % 2 === 0 ? 1 : waist;
    return [Math.sin(angle) * away, Math.cos(angle) * away];
  });
}

function heartAt(angle: number): [number, number] {
  const up = 13 * Math.cos(angle) - 5 * Math.cos(2 * angle) - 2 * Math.cos(3 * angle) - Math.cos(4 * angle);
  return [16 * Math.sin(angle) ** 3, up + 2.5];
}

/** With a soft shadow behind it, and a thin bright rim towards the light. */
function paintFigure({ canvas, side }: Frame, shape: Shape, color: Color, size: number): void {
  const { bottom, distance } = shape;
  const shadow = (x: number, y: number): number => distance(x - size * 0.05, y - size * 0.1);
  const rim = (x: number, y: number): number =>
    Math.max(distance(x, y), -distance(x - side * size * 0.018, y - size * 0.022));
  const dropped = { ...shape, bottom: bottom + size * 0.14, distance: shadow };
  canvas.fillShape(dropped, SHADOW, SHADOW, { blurPx: size * 0.16, alpha: 0.35 });
  canvas.fillShape(shape, mix(color, WHITE, 0.16), scale(color, 0.72), { lit: 0.2 });
  canvas.fillShape({ ...shape, distance: rim }, WHITE, mix(color, WHITE, 0.4), { alpha: 0.55 });
}
