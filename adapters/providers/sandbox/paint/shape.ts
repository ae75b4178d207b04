/** A filled outline: its bounds, and how many pixels a point is outside of it (negative inside). */
export interface Shape {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly distance: (x: number, y: number) => number;
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

export function box(left: number, top: number, right: number, bottom: number): Shape {
  return { left, top, right, bottom, distance: (x, y) => Math.max(left - x, x - right, top - y, y - bottom) };
}

/** Any closed outline. Its corners are rounded outwards by `rounding` pixels. */
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
  let isInside = false;
  let [previousX, previousY] = points.at(-1)!;
  for (const [pointX, pointY] of points) {
    const edgeX = previousX - pointX;
    const edgeY = previousY - pointY;
    const length = edgeX * edgeX + edgeY * edgeY;
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - pointX) * edgeX + (y - pointY) * edgeY) / length));
    nearest = Math.min(nearest, (x - pointX - edgeX * along) ** 2 + (y - pointY - edgeY * along) ** 2);
    if (pointY > y !== previousY > y && x < (edgeX * (y - pointY)) / edgeY + pointX) isInside = !isInside;
    previousX = pointX;
    previousY = pointY;
  }
  return (isInside ? -1 : 1) * Math.sqrt(nearest);
}

/** A regular polygon with one corner up. Every second corner is at the share `waist` of the radius: a star. */
export function regular(x: number, y: number, radius: number, corners: number, rounding: number, waist = 1): Shape {
  const points = Array.from({ length: corners }, (_, index): Point => {
    const angle = (index / corners) * 2 * Math.PI;
    const away = (radius - rounding) * (index % 2 === 0 ? 1 : waist);
    return [x + Math.sin(angle) * away, y - Math.cos(angle) * away];
  });
  return polygon(points, rounding);
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
