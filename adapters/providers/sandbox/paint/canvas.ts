import { lattice } from './random.js';
import type { Bounds, Shape } from './shapes.js';

/** Red, green and blue, each from 0 to 1, as a screen shows them. */
export type Color = readonly [red: number, green: number, blue: number];

export interface Finish {
  /** How strongly the light of the scene falls on the side that faces it. */
  readonly lit?: number;
  readonly alpha?: number;
  /** Half the width of the edge; half a pixel when absent. */
  readonly blurPx?: number;
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

  static fromRgb(widthPx: number, heightPx: number, bytes: Uint8Array): Canvas {
    const canvas = new Canvas(widthPx, heightPx);
    for (let index = 0; index < canvas.data.length; index += 1) canvas.data[index] = bytes[index]! / 255;
    return canvas;
  }

  /** Visits the pixels of an area, as far as they are inside; its right and its bottom are exclusive. */
  eachPixel(
    { left = 0, top = 0, right = Infinity, bottom = Infinity }: Partial<Bounds>,
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

  /** Lays `color` over a pixel. The position must be inside, as for `glow`. */
  blend(x: number, y: number, color: Color, alpha: number): void {
    const at = (y * this.widthPx + x) * 3;
    this.data[at]! += (color[0] - this.data[at]!) * alpha;
    this.data[at + 1]! += (color[1] - this.data[at + 1]!) * alpha;
    this.data[at + 2]! += (color[2] - this.data[at + 2]!) * alpha;
  }

  /** Adds light to a pixel; bright pixels take less of it. */
  glow(x: number, y: number, color: Color, strength: number): void {
    const at = (y * this.widthPx + x) * 3;
    this.data[at]! += (1 - this.data[at]!) * color[0] * strength;
    this.data[at + 1]! += (1 - this.data[at + 1]!) * color[1] * strength;
    this.data[at + 2]! += (1 - this.data[at + 2]!) * color[2] * strength;
  }

  /** Lays another canvas of the same size over this one; `alphaAt` gives its share in column `x`. */
  blendCanvas(other: Canvas, alphaAt: (x: number) => number): void {
    this.eachPixel({}, (x, y) => this.blend(x, y, other.colorAt(x, y), alphaAt(x)));
  }

  /** Paints a shape in a vertical gradient, with edges as smooth as the pixels allow. */
  fillShape(shape: Shape, top: Color, bottom = top, { lit = 0, alpha = 1, blurPx = 0.5 }: Finish = {}): void {
    const { color, side } = this.light;
    this.eachPixel(expand(shape, blurPx), (x, y) => {
      const cover = smoothstep(blurPx, -blurPx, shape.distance(x + 0.5, y + 0.5)) * alpha;
      if (cover === 0) return;
      this.blend(x, y, mix(top, bottom, clamp01((y - shape.top) / (shape.bottom - shape.top))), cover);
      const across = clamp01((x - shape.left) / (shape.right - shape.left));
      if (lit > 0) this.blend(x, y, color, cover * lit * (side > 0 ? 1 - across : across));
    });
  }

  /** Paints light that fades with the distance from a point. */
  fillGlow(centerX: number, centerY: number, radius: number, color: Color, strength: number): void {
    const point = { left: centerX, right: centerX, top: centerY, bottom: centerY };
    this.eachPixel(expand(point, radius), (x, y) => {
      const near = 1 - Math.hypot(x + 0.5 - centerX, y + 0.5 - centerY) / radius;
      if (near > 0) this.glow(x, y, color, strength * near * near * near);
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

function expand({ left, top, right, bottom }: Bounds, by: number): Bounds {
  return { left: left - by, top: top - by, right: right + by, bottom: bottom + by };
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
