import { lattice } from './random.js';
import type { Shape } from './shape.js';

/** Red, green and blue, each from 0 to 1, as a screen shows them. */
export type Color = readonly [red: number, green: number, blue: number];

export interface Fill {
  readonly top: Color;
  /** The colour at the foot of the shape, where a vertical gradient ends. The same as `top` when absent. */
  readonly bottom?: Color;
  /** The light that falls on the side facing it. */
  readonly light?: {
    readonly color: Color;
    readonly from: 'left' | 'right';
    readonly strength: number;
  };
  readonly alpha?: number;
}

/** Opaque pixels in floating point, three numbers each, top row first. */
export class Canvas {
  readonly data: Float32Array;

  constructor(
    readonly widthPx: number,
    readonly heightPx: number,
  ) {
    this.data = new Float32Array(widthPx * heightPx * 3);
  }

  static fromRgb(widthPx: number, heightPx: number, bytes: Uint8Array): Canvas {
    const canvas = new Canvas(widthPx, heightPx);
    for (let index = 0; index < canvas.data.length; index += 1) canvas.data[index] = bytes[index]! / 255;
    return canvas;
  }

  /** Lays `color` over a pixel. The position must be inside. */
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
  blendCanvas({ data }: Canvas, alphaAt: (x: number) => number): void {
    for (let x = 0; x < this.widthPx; x += 1) {
      const alpha = alphaAt(x);
      for (let at = x * 3; at < data.length; at += this.widthPx * 3)
        this.blend(x, (at / 3 - x) / this.widthPx, [data[at]!, data[at + 1]!, data[at + 2]!], alpha);
    }
  }

  /** Paints a shape with edges as smooth as the pixels allow. */
  fillShape(shape: Shape, { top, bottom = top, light, alpha = 1 }: Fill): void {
    this.eachRow(shape, 1, (y, left, right) => {
      const color = mix(top, bottom, clamp01((y - shape.top) / (shape.bottom - shape.top)));
      for (let x = left; x <= right; x += 1) {
        const cover = clamp01(0.5 - shape.distance(x + 0.5, y + 0.5)) * alpha;
        if (cover === 0) continue;
        this.blend(x, y, color, cover);
        if (light === undefined) continue;
        const across = clamp01((x - shape.left) / (shape.right - shape.left));
        this.blend(x, y, light.color, cover * light.strength * (light.from === 'left' ? 1 - across : across));
      }
    });
  }

  /** Paints light that fades with the distance from a point. */
  fillGlow(centerX: number, centerY: number, radius: number, color: Color, strength: number): void {
    const point = { left: centerX, right: centerX, top: centerY, bottom: centerY };
    this.eachRow(point, radius, (y, left, right) => {
      for (let x = left; x <= right; x += 1) {
        const near = 1 - Math.hypot(x + 0.5 - centerX, y + 0.5 - centerY) / radius;
        if (near > 0) this.glow(x, y, color, strength * near * near * near);
      }
    });
  }

  /** Paints a soft shadow: the shape in black, its edge spread over `blurPx`. */
  fillShadow(shape: Shape, blurPx: number, alpha: number): void {
    this.eachRow(shape, blurPx, (y, left, right) => {
      for (let x = left; x <= right; x += 1) {
        const cover = smoothstep(blurPx, -blurPx, shape.distance(x + 0.5, y + 0.5));
        if (cover > 0) this.blend(x, y, [0.03, 0.02, 0.08], cover * alpha);
      }
    });
  }

  private eachRow(
    bounds: Omit<Shape, 'distance'>,
    margin: number,
    paint: (y: number, left: number, right: number) => void,
  ): void {
    const left = Math.max(0, Math.floor(bounds.left - margin));
    const right = Math.min(this.widthPx - 1, Math.ceil(bounds.right + margin));
    const bottom = Math.min(this.heightPx - 1, Math.ceil(bounds.bottom + margin));
    for (let y = Math.max(0, Math.floor(bounds.top - margin)); y <= bottom; y += 1) paint(y, left, right);
  }

  /** Bytes of `channels` per pixel. The dither breaks up the bands that eight bits leave in a soft sky. */
  toBytes(channels: 3 | 4): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.widthPx * this.heightPx * channels).fill(255);
    for (let y = 0, from = 0, to = 0; y < this.heightPx; y += 1) {
      for (let x = 0; x < this.widthPx; x += 1, from += 3, to += channels) {
        const dither = lattice(x, y, 0x51f15e) * 0.99;
        for (let channel = 0; channel < 3; channel += 1)
          bytes[to + channel] = clamp01(this.data[from + channel]!) * 254.5 + dither;
      }
    }
    return bytes;
  }
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
