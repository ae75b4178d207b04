import { hex, mix, scale, type Color } from './color.js';
import { fillGlow, fillShadow, fillShape } from './fill.js';
import type { Frame } from './frame.js';
import { circle, heart, regular, ring, roundedBox, star, type Shape } from './shape.js';
import type { Figure } from './reading.js';

const DEFAULT_COLORS = ['f2605c', 'f6b83c', '3fa7d6', '59cd90', '8f6be8', 'ee7fb1', 'fac05e', '3cc4bd', 'e85d9a'].map(
  hex,
);

function outline(kind: Figure['kind'], x: number, y: number, size: number): Shape {
  switch (kind) {
    case 'circle':
      return circle(x, y, size);
    case 'square':
      return roundedBox(x - size * 0.88, y - size * 0.88, x + size * 0.88, y + size * 0.88, size * 0.06);
    case 'triangle':
      return regular(x, y + size * 0.18, size * 1.15, 3, size * 0.04);
    case 'star':
      return star(x, y, size * 1.12, size * 0.05);
    case 'heart':
      return heart(x, y, size);
    case 'diamond':
      return regular(x, y, size * 1.1, 4, size * 0.04);
    case 'hexagon':
      return regular(x, y, size, 6, size * 0.05);
    case 'ring':
      return ring(x, y, size, size * 0.34);
  }
}

/** The geometric shapes a prompt names, in rows, gently bobbing when time passes. */
export function paintFigures(frame: Frame): void {
  const { canvas, scene, width, unit, horizonY, seconds } = frame;
  const isStill = scene.kind === 'still life';
  const count = scene.figures.length;
  const columns = Math.min(count, count > 4 ? Math.ceil(count / 2) : count);
  const rows = Math.ceil(count / columns);
  const room = isStill ? 0.84 : 0.7;
  const size = Math.min((width * room) / columns, (unit * (isStill ? 0.62 : 0.36)) / rows) * (isStill ? 0.42 : 0.36);
  const centerY = isStill ? frame.height * 0.45 : horizonY * 0.46;
  const start = scene.random.fork('figures').next() * DEFAULT_COLORS.length;
  scene.figures.forEach((figure, index) => {
    const row = Math.floor(index / columns);
    const inRow = Math.min(columns, count - row * columns);
    const x = width / 2 + ((index % columns) - (inRow - 1) / 2) * size * 2.4;
    const bob = Math.sin(seconds * 1.6 + index * 1.1) * size * 0.06;
    const y = centerY + (row - (rows - 1) / 2) * size * 2.4 + bob;
    const color = figure.color ?? DEFAULT_COLORS[Math.floor(start + index) % DEFAULT_COLORS.length]!;
    paintFigure(frame, outline(figure.kind, x, y, size), color, size);
    if (isStill)
      fillShadow(canvas, groundShadow(x, frame.height * 0.78, size, centerY / Math.max(1, y)), size * 0.25, 0.22);
  });
}

function groundShadow(x: number, y: number, size: number, closeness: number): Shape {
  const wide = size * 0.8 * closeness;
  const tall = size * 0.05;
  return {
    left: x - wide,
    right: x + wide,
    top: y - tall,
    bottom: y + tall,
    distance: (px, py) => (Math.hypot((px - x) / wide, (py - y) / (tall * 3)) - 0.6) * tall * 6,
  };
}

function paintFigure({ canvas, scene }: Frame, shape: Shape, color: Color, size: number): void {
  const centerX = (shape.left + shape.right) / 2;
  const centerY = (shape.top + shape.bottom) / 2;
  const dropped: Shape = {
    left: shape.left,
    right: shape.right,
    top: shape.top,
    bottom: shape.bottom + size * 0.14,
    distance: (x, y) => shape.distance(x - size * 0.05, y - size * 0.1),
  };
  if (scene.kind === 'landscape') fillGlow(canvas, centerX, centerY, size * 2, color, 0.4);
  fillShadow(canvas, dropped, size * 0.16, 0.35);
  const from = scene.lightX < 0.5 ? 'left' : 'right';
  fillShape(canvas, shape, {
    top: mix(color, [1, 1, 1], 0.16),
    bottom: scale(color, 0.72),
    light: { color: mix(color, [1, 1, 1], 0.6), from, strength: 0.3 },
  });
  // A thin bright rim towards the light gives it an edge.
  const rim: Shape = {
    left: shape.left,
    right: shape.right,
    top: shape.top,
    bottom: shape.bottom,
    distance: (x, y) =>
      Math.max(shape.distance(x, y), -shape.distance(x + (from === 'left' ? -1 : 1) * size * 0.018, y - size * 0.022)),
  };
  fillShape(canvas, rim, { top: [1, 1, 1], bottom: mix(color, [1, 1, 1], 0.4), alpha: 0.55 });
}
