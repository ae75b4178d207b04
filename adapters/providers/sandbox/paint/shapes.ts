export interface Bounds {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** A filled outline: its bounds, and how many pixels a point is outside of it (negative inside). */
export interface Shape extends Bounds {
  readonly distance: (x: number, y: number) => number;
}

type Point = readonly [x: number, y: number];

export function circle(centerX: number, centerY: number, radius: number): Shape {
  const distance = (x: number, y: number): number => Math.hypot(x - centerX, y - centerY) - radius;
  return { left: centerX - radius, top: centerY - radius, right: centerX + radius, bottom: centerY + radius, distance };
}

export function box(left: number, top: number, right: number, bottom: number): Shape {
  return { left, top, right, bottom, distance: (x, y) => Math.max(left - x, x - right, top - y, y - bottom) };
}

/**
 * An outline around (`x`, `y`): pairs of numbers in units of `size`, to the right and up. Four numbers are a box: its
 * left, low, right and high side.
 */
export function outline(numbers: readonly number[], x: number, y: number, size: number, tilt = 0): Shape {
  const [left, low, right, high] = numbers as [number, number, number, number];
  const pairs = numbers.length === 4 ? [left, low, right, low, right, high, left, high] : numbers;
  const points = Array.from({ length: pairs.length / 2 }, (_, index): Point => {
    const [across, up] = [pairs[2 * index]!, pairs[2 * index + 1]!];
    return [x + (across - up * tilt) * size, y - (up + across * tilt) * size];
  });
  return polygon(points);
}

/** A closed curve of straight pieces around (`x`, `y`); `at` gives the point at an angle as the numbers of `outline`. */
export function curve(pieces: number, x: number, y: number, size: number, at: (angle: number, index: number) => Point) {
  const points = Array.from({ length: pieces }, (_, index) => at((index / pieces) * 2 * Math.PI, index));
  return outline(points.flat(), x, y, size);
}

function polygon(points: readonly Point[]): Shape {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const distance = (x: number, y: number): number => polygonDistance(points, x, y);
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys), distance };
}

function polygonDistance(points: readonly Point[], x: number, y: number): number {
  let nearest = Infinity;
  let isInside = false;
  let [previousX, previousY] = points.at(-1)!;
  for (const [pointX, pointY] of points) {
    const [edgeX, edgeY] = [previousX - pointX, previousY - pointY];
    const length = edgeX * edgeX + edgeY * edgeY;
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - pointX) * edgeX + (y - pointY) * edgeY) / length));
    nearest = Math.min(nearest, (x - pointX - edgeX * along) ** 2 + (y - pointY - edgeY * along) ** 2);
    if (pointY > y !== previousY > y && x < (edgeX * (y - pointY)) / edgeY + pointX) isInside = !isInside;
    [previousX, previousY] = [pointX, pointY];
  }
  return (isInside ? -1 : 1) * Math.sqrt(nearest);
}
