import { hex, mix, outline, scale, type Color, type Shape } from './canvas.js';
import type { FigureKind } from './prompt.js';
import type { Frame } from './scene.js';

const COLORS = ['f2605c', 'f6b83c', '3fa7d6', '59cd90', '8f6be8', 'ee7fb1', 'fac05e', '3cc4bd', 'e85d9a'].map(hex);
const WHITE: Color = [1, 1, 1];
const SHADOW: Color = [0.03, 0.02, 0.08];

/** The geometric figures that a prompt names, in rows, gently bobbing. */
export function paintFigures(frame: Frame): void {
  const { canvas, figures, random, width, height, unit, horizonY, seconds, isStill } = frame;
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
    canvas.fillGlow(x, y, size * 2, color, 0.4);
    const shape = outline(SHAPES[kind], x, y, size);
    const hollow = (px: number, py: number): number => Math.abs(shape.distance(px, py) + size * 0.17) - size * 0.17;
    paintFigure(frame, kind === 'ring' ? { ...shape, distance: hollow } : shape, color, size);
  });
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

/** In units of the figure's size, as `outline` reads them. */
const SHAPES: Readonly<Record<FigureKind, readonly number[]>> = {
  circle: [0, 0, 1],
  square: [-0.9, -0.9, 0.9, 0.9],
  triangle: [0, 0.97, 1, -0.75, -1, -0.75],
  star: pointsAt(10, (angle, index) =>
    [Math.sin(angle), Math.cos(angle)].map((n) => n * (index % 2 === 0 ? 1.12 : 0.5)),
  ),
  heart: pointsAt(56, heartAt),
  diamond: [0, 1.1, 1.1, 0, 0, -1.1, -1.1, 0],
  hexagon: pointsAt(6, (angle) => [Math.sin(angle), Math.cos(angle)]),
  ring: [0, 0, 1],
};

function pointsAt(count: number, at: (angle: number, index: number) => readonly number[]): number[] {
  return Array.from({ length: count }, (_, index) => at((index / count) * 2 * Math.PI, index)).flat();
}

function heartAt(angle: number): readonly number[] {
  const up = 13 * Math.cos(angle) - 5 * Math.cos(2 * angle) - 2 * Math.cos(3 * angle) - Math.cos(4 * angle);
  return [(16 * Math.sin(angle) ** 3) / 17, (up + 2.5) / 17];
}
