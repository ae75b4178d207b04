/** A filled outline: how far a point is outside of it, in pixels (negative inside), and where it can be at all. */
export interface Shape {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  distance(x: number, y: number): number;
}

export type Point = readonly [x: number, y: number];

export function circle(centerX: number, centerY: number, radius: number): Shape {
  return {
    left: centerX - radius,
    top: centerY - radius,
    right: centerX + radius,
    bottom: centerY + radius,
    distance: (x, y) => Math.hypot(x - centerX, y - centerY) - radius,
  };
}

export function ring(centerX: number, centerY: number, radius: number, thickness: number): Shape {
  return {
    ...circle(centerX, centerY, radius),
    distance: (x, y) => Math.abs(Math.hypot(x - centerX, y - centerY) - radius + thickness / 2) - thickness / 2,
  };
}

export function roundedBox(left: number, top: number, right: number, bottom: number, radius: number): Shape {
  const centerX = (left + right) / 2;
  const centerY = (top + bottom) / 2;
  const halfWidth = (right - left) / 2 - radius;
  const halfHeight = (bottom - top) / 2 - radius;
  return {
    left,
    top,
    right,
    bottom,
    distance: (x, y) => {
      const outX = Math.abs(x - centerX) - halfWidth;
      const outY = Math.abs(y - centerY) - halfHeight;
      return Math.hypot(Math.max(outX, 0), Math.max(outY, 0)) + Math.min(Math.max(outX, outY), 0) - radius;
    },
  };
}

/** Any closed outline; `rounding` pixels soften its corners outwards. */
export function polygon(points: readonly Point[], rounding = 0): Shape {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  return {
    left: Math.min(...xs) - rounding,
    top: Math.min(...ys) - rounding,
    right: Math.max(...xs) + rounding,
    bottom: Math.max(...ys) + rounding,
    distance: (x, y) => polygonDistance(points, x, y) - rounding,
  };
}

function polygonDistance(points: readonly Point[], x: number, y: number): number {
  let nearest = Infinity;
  let inside = false;
  let [previousX, previousY] = points[points.length - 1]!;
  for (const [pointX, pointY] of points) {
    const edgeX = previousX - pointX;
    const edgeY = previousY - pointY;
    const length = edgeX * edgeX + edgeY * edgeY;
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - pointX) * edgeX + (y - pointY) * edgeY) / length));
    const awayX = x - pointX - edgeX * along;
    const awayY = y - pointY - edgeY * along;
    nearest = Math.min(nearest, awayX * awayX + awayY * awayY);
    if (pointY > y !== previousY > y && x < (edgeX * (y - pointY)) / edgeY + pointX) inside = !inside;
    previousX = pointX;
    previousY = pointY;
  }
  return (inside ? -1 : 1) * Math.sqrt(nearest);
}

/** A regular polygon with one corner up. */
export function regular(centerX: number, centerY: number, radius: number, corners: number, rounding = 0): Shape {
  return polygon(
    corner(centerX, centerY, corners, () => radius - rounding),
    rounding,
  );
}

export function star(centerX: number, centerY: number, radius: number, rounding = 0): Shape {
  return polygon(
    corner(centerX, centerY, 10, (index) => (index % 2 === 0 ? 1 : 0.45) * (radius - rounding)),
    rounding,
  );
}

function corner(centerX: number, centerY: number, count: number, radius: (index: number) => number): Point[] {
  return Array.from({ length: count }, (_, index) => {
    const angle = (index / count) * 2 * Math.PI;
    return [centerX + Math.sin(angle) * radius(index), centerY - Math.cos(angle) * radius(index)] as const;
  });
}

export function heart(centerX: number, centerY: number, radius: number): Shape {
  const points = Array.from({ length: 56 }, (_, index): Point => {
    const angle = (index / 56) * 2 * Math.PI;
    const across = 16 * Math.sin(angle) ** 3;
    const up = 13 * Math.cos(angle) - 5 * Math.cos(2 * angle) - 2 * Math.cos(3 * angle) - Math.cos(4 * angle);
    return [centerX + (across / 17) * radius, centerY - ((up + 2.5) / 17) * radius];
  });
  return polygon(points);
}
