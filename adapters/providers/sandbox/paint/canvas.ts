import { lattice } from './random.js';

/** Red, green and blue, each from 0 to 1, as a screen shows them. */
export type Color = readonly [red: number, green: number, blue: number];

/** A filled area: its bounds, and how many pixels a point is outside of it (negative inside). */
export interface Shape {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly distance: (x: number, y: number) => number;
}

/** Opaque pixels in floating point, three numbers each, top row first. */
export class Canvas {
  readonly data: Float32Array;

  /** The light comes from the left where its side is 1. */
  constructor(
    readonly widthPx: number,
    readonly heightPx: number,
    private readonly light: { readonly color: Color; readonly side: 1 | -1 } = { color: [1, 1, 1], side: 1 },
  ) {
    this.data = new Float32Array(widthPx * heightPx * 3);
  }

  /** Visits the pixels of an area, as far as they are inside; its right and its bottom are exclusive. */
  eachPixel(
    { left = 0, top = 0, right = Infinity, bottom = Infinity }: Partial<Shape>,
    paint: (x: number, y: number) => void,
  ): void {
    const [endX, endY] = [Math.min(this.widthPx, right), Math.min(this.heightPx, bottom)];
    for (let y = Math.max(0, Math.floor(top)); y < endY; y += 1)
      for (let x = Math.max(0, Math.floor(left)); x < endX; x += 1) paint(x, y);
  }

  colorAt(x: number, y: number): Color {
    const at = (y * this.widthPx + x) * 3;
    return [this.data[at]!, this.data[at + 1]!, this.data[at + 2]!];
  }

  /** Lays `color` over a pixel, which must be inside. */
  blend(x: number, y: number, color: Color, alpha: number): void {
    const at = (y * this.widthPx + x) * 3;
    this.data[at]! += (color[0] - this.data[at]!) * alpha;
    this.data[at + 1]! += (color[1] - this.data[at + 1]!) * alpha;
    this.data[at + 2]! += (color[2] - this.data[at + 2]!) * alpha;
  }

  /** Lays another canvas of the same size over this one; `alphaAt` gives its share in column `x`. */
  blendCanvas(other: Canvas, alphaAt: (x: number) => number): void {
    this.eachPixel({}, (x, y) => this.blend(x, y, other.colorAt(x, y), alphaAt(x)));
  }

  /**
   * Paints a shape in a vertical gradient. `lit` is how strongly the light of the scene falls on the side that faces it, and
   * `blurPx` half the width of the edge, which is as smooth as the pixels allow when it is absent.
   */
  fillShape(shape: Shape, top: Color, bottom = top, { lit = 0, alpha = 1, blurPx = 0.5 } = {}): void {
    const { color, side } = this.light;
    const grown = { left: shape.left - blurPx, right: shape.right + blurPx, top: shape.top - blurPx };
    this.eachPixel({ ...grown, bottom: shape.bottom + blurPx }, (x, y) => {
      const cover = smoothstep(blurPx, -blurPx, shape.distance(x + 0.5, y + 0.5)) * alpha;
      if (cover === 0) return;
      this.blend(x, y, mix(top, bottom, clamp01((y - shape.top) / (shape.bottom - shape.top))), cover);
      const across = clamp01((x - shape.left) / (shape.right - shape.left));
      if (lit > 0) this.blend(x, y, color, cover * lit * (side > 0 ? 1 - across : across));
    });
  }

  /** Paints light that fades with the distance from a point. */
  fillGlow(centerX: number, centerY: number, radius: number, color: Color, strength: number): void {
    const halo = circle(centerX, centerY, radius);
    this.eachPixel(halo, (x, y) => {
      const near = Math.max(0, -halo.distance(x + 0.5, y + 0.5) / radius);
      this.blend(x, y, color, strength * near * near * near);
    });
  }

  /** Bytes of `channels` per pixel. The dither breaks up the bands that eight bits leave in a soft sky. */
  toBytes(channels: 3 | 4): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.widthPx * this.heightPx * channels).fill(255);
    this.eachPixel({}, (x, y) => {
      const pixel = y * this.widthPx + x;
      const dither = lattice(x, y, 0x51f15e) * 0.99;
      for (let index = 0; index < 3; index += 1)
        bytes[pixel * channels + index] = clamp01(this.data[pixel * 3 + index]!) * 254.5 + dither;
    });
    return bytes;
  }
}

export function circle(x: number, y: number, radius: number): Shape {
  const distance = (px: number, py: number): number => Math.hypot(px - x, py - y) - radius;
  return { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius, distance };
}

export function box(left: number, top: number, right: number, bottom: number): Shape {
  return { left, top, right, bottom, distance: (x, y) => Math.max(left - x, x - right, top - y, y - bottom) };
}

/**
 * An outline around (`x`, `y`): pairs of numbers in units of `size`, to the right and up. Three numbers are a circle, its
 * centre and radius; four are a box, its left, low, right and high side.
 */
export function outline(numbers: readonly number[], x: number, y: number, size: number, tilt = 0): Shape {
  const [left, low, right, high] = numbers as [number, number, number, number];
  if (numbers.length === 3) return circle(x + (left - low * tilt) * size, y - (low + left * tilt) * size, right * size);
  const pairs = numbers.length === 4 ? [left, low, right, low, right, high, left, high] : numbers;
  const [xs, ys]: [number[], number[]] = [[], []];
  for (let at = 0; at < pairs.length; at += 2) {
    xs.push(x + (pairs[at]! - pairs[at + 1]! * tilt) * size);
    ys.push(y - (pairs[at + 1]! + pairs[at]! * tilt) * size);
  }
  const distance = (px: number, py: number): number => polygonDistance(xs, ys, px, py);
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys), distance };
}

function polygonDistance(xs: readonly number[], ys: readonly number[], x: number, y: number): number {
  let nearest = Infinity;
  let isInside = false;
  for (let corner = 0, previous = xs.length - 1; corner < xs.length; previous = corner, corner += 1) {
    const [fromX, fromY] = [x - xs[corner]!, y - ys[corner]!];
    const [edgeX, edgeY] = [xs[previous]! - xs[corner]!, ys[previous]! - ys[corner]!];
    const length = edgeX * edgeX + edgeY * edgeY;
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, (fromX * edgeX + fromY * edgeY) / length));
    nearest = Math.min(nearest, (fromX - edgeX * along) ** 2 + (fromY - edgeY * along) ** 2);
    if (fromY < 0 !== fromY < edgeY && fromX < (edgeX * fromY) / edgeY) isInside = !isInside;
  }
  return (isInside ? -1 : 1) * Math.sqrt(nearest);
}

export function hex(text: string): Color {
  const bits = Number.parseInt(text, 16);
  return [(bits >> 16) / 255, ((bits >> 8) & 255) / 255, (bits & 255) / 255];
}

export function mix(from: Color, to: Color, share: number): Color {
  return [
    from[0] + (to[0] - from[0]) * share,
    from[1] + (to[1] - from[1]) * share,
    from[2] + (to[2] - from[2]) * share,
  ];
}

/** Brighter above 1, darker below. */
export function scale(color: Color, factor: number): Color {
  return [Math.min(1, color[0] * factor), Math.min(1, color[1] * factor), Math.min(1, color[2] * factor)];
}

/** The colour at `position`, 0 to 1, between evenly spaced stops. */
export function ramp(stops: readonly Color[], position: number): Color {
  const scaled = clamp01(position) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(scaled));
  return mix(stops[index]!, stops[index + 1]!, scaled - index);
}

export function clamp01(value: number): number {
  return value < 0 ? 0 : value > 1 ? 1 : value;
}

/** A smooth curve from 0 at `low` to 1 at `high`; `low` may be the larger. */
export function smoothstep(low: number, high: number, value: number): number {
  const t = clamp01((value - low) / (high - low));
  return t * t * (3 - 2 * t);
}
