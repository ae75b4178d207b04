import { clamp01, type Color } from './color.js';
import { lattice } from './random.js';

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

  /** Lays `color` over a pixel. Positions outside are the caller's mistake. */
  blend(x: number, y: number, color: Color, alpha: number): void {
    const at = (y * this.widthPx + x) * 3;
    this.data[at] = this.data[at]! + (color[0] - this.data[at]!) * alpha;
    this.data[at + 1] = this.data[at + 1]! + (color[1] - this.data[at + 1]!) * alpha;
    this.data[at + 2] = this.data[at + 2]! + (color[2] - this.data[at + 2]!) * alpha;
  }

  /** Adds light to a pixel the way a glow does: bright areas take less of it. */
  glow(x: number, y: number, color: Color, strength: number): void {
    const at = (y * this.widthPx + x) * 3;
    this.data[at] = this.data[at]! + (1 - this.data[at]!) * color[0] * strength;
    this.data[at + 1] = this.data[at + 1]! + (1 - this.data[at + 1]!) * color[1] * strength;
    this.data[at + 2] = this.data[at + 2]! + (1 - this.data[at + 2]!) * color[2] * strength;
  }

  /** Mixes another canvas of the same size over this one. */
  blendCanvas(other: Canvas, alpha: number): void {
    for (let index = 0; index < this.data.length; index += 1) {
      this.data[index] = this.data[index]! + (other.data[index]! - this.data[index]!) * alpha;
    }
  }

  /** Bytes of `channels` (3 or 4) a pixel. The dither breaks up the bands that eight bits leave in a soft sky. */
  toBytes(channels: 3 | 4): Uint8Array {
    const bytes = new Uint8Array(this.widthPx * this.heightPx * channels);
    for (let y = 0, from = 0, to = 0; y < this.heightPx; y += 1) {
      for (let x = 0; x < this.widthPx; x += 1, from += 3, to += channels) {
        const dither = lattice(x, y, 0x51f15e);
        for (let channel = 0; channel < 3; channel += 1)
          bytes[to + channel] = clamp01(this.data[from + channel]!) * 254.5 + dither * 0.99;
        if (channels === 4) bytes[to + 3] = 255;
      }
    }
    return bytes;
  }
}
