import { clamp01, hex, mix, scale, smoothstep, type Color } from './canvas.js';
import type { Frame } from './scene.js';
import type { Figure } from './prompt.js';
import { box, circle, heart, regular, ring, type Shape } from './shape.js';

const GROUNDS = ['f6e7d4 e9b8a0', 'dfe9f3 9db8d9', 'f3e4ef c4a3d6', 'e8f1e4 9cc7b2', '2c3557 151a33'] as const;

/** A studio wall that curves into a floor, lit from one side, for figures to float in front of. */
export function paintStudio({ canvas, random, width, height, unit, lightX }: Frame): void {
  const [light, deep] = random.fork('studio').pick(GROUNDS).split(' ').map(hex) as [Color, Color];
  const floorY = height * 0.7;
  for (let y = 0; y < height; y += 1) {
    const floor = scale(mix(light, deep, 0.35 + 0.3 * clamp01((y - floorY) / (height - floorY))), 0.97);
    const share = smoothstep(floorY - height * 0.06, floorY + height * 0.06, y);
    for (let x = 0; x < width; x += 1) {
      const away = Math.hypot(x - lightX * width, y - height * 0.25) / (unit * 1.15);
      canvas.blend(x, y, mix(mix(light, deep, clamp01(away) ** 1.2), floor, share), 1);
    }
  }
}

const COLORS = ['f2605c', 'f6b83c', '3fa7d6', '59cd90', '8f6be8', 'ee7fb1', 'fac05e', '3cc4bd', 'e85d9a'].map(hex);

/** The geometric figures that a prompt names, in rows, gently bobbing. */
export function paintFigures(frame: Frame): void {
  const { canvas, figures, random, width, height, unit, horizonY, seconds } = frame;
  const isStill = frame.kind === 'still life';
  const count = figures.length;
  const columns = count > 4 ? Math.ceil(count / 2) : count;
  const rows = Math.ceil(count / columns);
  const size = isStill
    ? Math.min((width * 0.84) / columns, (unit * 0.62) / rows) * 0.42
    : Math.min((width * 0.7) / columns, (unit * 0.36) / rows) * 0.36;
  const centerY = isStill ? height * 0.45 : horizonY * 0.46;
  const start = random.fork('figures').next() * COLORS.length;
  figures.forEach(({ kind, color }, index) => {
    const row = Math.floor(index / columns);
    const inRow = Math.min(columns, count - row * columns);
    const x = width / 2 + ((index % columns) - (inRow - 1) / 2) * size * 2.4;
    const bob = Math.sin(seconds * 1.6 + index * 1.1) * size * 0.06;
    const y = centerY + (row - (rows - 1) / 2) * size * 2.4 + bob;
    const own = color ?? COLORS[Math.floor(start + index) % COLORS.length]!;
    paintFigure(frame, figureShape(kind, x, y, size), own, size);
    if (isStill) canvas.fillShadow(groundShadow(x, height * 0.78, size * (centerY / y)), size * 0.25, 0.22);
  });
}

function figureShape(kind: Figure['kind'], x: number, y: number, size: number): Shape {
  const shapes: Record<Figure['kind'], () => Shape> = {
    circle: () => circle(x, y, size),
    square: () => box(x - size * 0.9, y - size * 0.9, x + size * 0.9, y + size * 0.9),
    triangle: () => regular(x, y + size * 0.18, size * 1.15, 3, size * 0.04),
    star: () => regular(x, y, size * 1.12, 10, size * 0.05, 0.45),
    heart: () => heart(x, y, size),
    diamond: () => regular(x, y, size * 1.1, 4, size * 0.04),
    hexagon: () => regular(x, y, size, 6, size * 0.05),
    ring: () => ring(x, y, size, size * 0.34),
  };
  return shapes[kind]();
}

function paintFigure({ canvas, kind, side }: Frame, shape: Shape, color: Color, size: number): void {
  const { left, top, right, bottom, distance } = shape;
  if (kind === 'landscape') canvas.fillGlow((left + right) / 2, (top + bottom) / 2, size * 2, color, 0.4);
  const dropped = {
    ...shape,
    bottom: bottom + size * 0.14,
    distance: (x: number, y: number) => distance(x - size * 0.05, y - size * 0.1),
  };
  canvas.fillShadow(dropped, size * 0.16, 0.35);
  const light = { color: mix(color, [1, 1, 1], 0.6), from: side > 0 ? 'left' : 'right', strength: 0.3 } as const;
  canvas.fillShape(shape, { top: mix(color, [1, 1, 1], 0.16), bottom: scale(color, 0.72), light });
  // A thin bright rim towards the light gives it an edge.
  const rim = (x: number, y: number): number =>
    Math.max(distance(x, y), -distance(x - side * size * 0.018, y - size * 0.022));
  canvas.fillShape({ ...shape, distance: rim }, { top: [1, 1, 1], bottom: mix(color, [1, 1, 1], 0.4), alpha: 0.55 });
}

function groundShadow(x: number, y: number, size: number): Shape {
  const [wide, tall] = [size * 0.8, size * 0.05];
  const distance = (px: number, py: number): number =>
    (Math.hypot((px - x) / wide, (py - y) / (tall * 3)) - 0.6) * tall * 6;
  return { left: x - wide, right: x + wide, top: y - tall, bottom: y + tall, distance };
}
