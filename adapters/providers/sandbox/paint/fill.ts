import type { Canvas } from './canvas.js';
import { clamp01, mix, smoothstep, type Color } from './color.js';
import type { Shape } from './shape.js';

export interface Fill {
  readonly top: Color;
  /** Of a vertical gradient over the shape's height; the same as `top` when absent. */
  readonly bottom?: Color;
  /** Colour of the light that falls on the side facing it. */
  readonly light?: { readonly color: Color; readonly from: 'left' | 'right'; readonly strength: number };
  readonly alpha?: number;
}

/** Paints a shape with edges as smooth as the pixels allow. */
export function fillShape(canvas: Canvas, shape: Shape, fill: Fill): void {
  const top = Math.max(0, Math.floor(shape.top - 1));
  const bottom = Math.min(canvas.heightPx - 1, Math.ceil(shape.bottom + 1));
  const left = Math.max(0, Math.floor(shape.left - 1));
  const right = Math.min(canvas.widthPx - 1, Math.ceil(shape.right + 1));
  const alpha = fill.alpha ?? 1;
  for (let y = top; y <= bottom; y += 1) {
    const color = mix(fill.top, fill.bottom ?? fill.top, clamp01((y - shape.top) / (shape.bottom - shape.top)));
    for (let x = left; x <= right; x += 1) {
      const coverage = clamp01(0.5 - shape.distance(x + 0.5, y + 0.5)) * alpha;
      if (coverage === 0) continue;
      canvas.blend(x, y, color, coverage);
      if (fill.light === undefined) continue;
      const across = (x - shape.left) / (shape.right - shape.left);
      canvas.blend(
        x,
        y,
        fill.light.color,
        coverage * fill.light.strength * clamp01(fill.light.from === 'left' ? 1 - across : across),
      );
    }
  }
}

/** Light that fades with distance from a point. */
export function fillGlow(
  canvas: Canvas,
  centerX: number,
  centerY: number,
  radius: number,
  color: Color,
  strength: number,
): void {
  const top = Math.max(0, Math.floor(centerY - radius));
  const bottom = Math.min(canvas.heightPx - 1, Math.ceil(centerY + radius));
  const left = Math.max(0, Math.floor(centerX - radius));
  const right = Math.min(canvas.widthPx - 1, Math.ceil(centerX + radius));
  for (let y = top; y <= bottom; y += 1) {
    for (let x = left; x <= right; x += 1) {
      const near = 1 - Math.hypot(x + 0.5 - centerX, y + 0.5 - centerY) / radius;
      if (near > 0) canvas.glow(x, y, color, strength * near * near * near);
    }
  }
}

/** A soft shadow: the shape in black, its edge spread over `blurPx`. */
export function fillShadow(canvas: Canvas, shape: Shape, blurPx: number, alpha: number): void {
  const top = Math.max(0, Math.floor(shape.top - blurPx));
  const bottom = Math.min(canvas.heightPx - 1, Math.ceil(shape.bottom + blurPx));
  const left = Math.max(0, Math.floor(shape.left - blurPx));
  const right = Math.min(canvas.widthPx - 1, Math.ceil(shape.right + blurPx));
  for (let y = top; y <= bottom; y += 1) {
    for (let x = left; x <= right; x += 1) {
      const coverage = smoothstep(blurPx, -blurPx, shape.distance(x + 0.5, y + 0.5));
      if (coverage > 0) canvas.blend(x, y, [0.03, 0.02, 0.08], coverage * alpha);
    }
  }
}
