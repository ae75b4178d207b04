import type { Canvas } from './canvas.js';
import { clamp01, smoothstep } from './color.js';
import { BASELINE, CAP_HEIGHT, glyphOf } from './glyphs.js';
import type { Point } from './shape.js';

const MAX_LINES = 3;
/** No caption shows more than this, so that a long prompt costs no more than a short one. */
const MAX_CHARACTERS = 600;

/** The caption of one size of picture, drawn once and laid over as many frames as there are. */
export interface Caption {
  /** How much of the ink covers each pixel from row `top` down, 0 to 1, row by row. */
  readonly ink: Float32Array;
  readonly top: number;
}

/** Sets the text at the bottom left: wrapped, at most three lines, an ellipsis where it was cut. */
export function setCaption(text: string, widthPx: number, heightPx: number): Caption {
  const short = Math.min(widthPx, heightPx);
  const capHeight = Math.max(8.5, short * 0.0235 + 2);
  const unit = capHeight / CAP_HEIGHT;
  const margin = Math.round(short * 0.045);
  const lineHeight = capHeight * 1.95;
  const lines = wrap(text, (widthPx - 2 * margin) / unit);
  const top = Math.floor(heightPx - margin - lines.length * lineHeight - capHeight * 1.6);
  const ink = new Float32Array(widthPx * (heightPx - top));
  const pen = { ink, top, widthPx, heightPx, radius: Math.max(0.62, capHeight * 0.065) };
  lines.forEach((line, row) => {
    const baseline = heightPx - margin - (lines.length - 1 - row) * lineHeight;
    let x = margin;
    for (const character of line) {
      const glyph = glyphOf(character);
      for (const stroke of glyph.strokes)
        drawStroke(
          pen,
          stroke.map(([px, py]) => [x + px * unit, baseline + (py - BASELINE) * unit]),
        );
      x += glyph.advance * unit;
    }
  });
  return { ink, top };
}

/** Darkens the foot of the picture and writes the caption on it. */
export function drawCaption(canvas: Canvas, caption: Caption, alpha = 1): void {
  const { widthPx, heightPx } = canvas;
  const { ink, top } = caption;
  for (let y = top; y < heightPx; y += 1) {
    const shade = smoothstep(0, 1, clamp01((y - top) / ((heightPx - top) * 0.75))) * 0.62;
    for (let x = 0; x < widthPx; x += 1) {
      canvas.blend(x, y, [0.02, 0.025, 0.06], shade * alpha);
      const cover = ink[(y - top) * widthPx + x]!;
      if (cover > 0) canvas.blend(x, y, [1, 0.985, 0.95], cover * 0.96 * alpha);
    }
  }
}

function wrap(text: string, room: number): string[] {
  const clean = [
    ...text
      .normalize('NFC')
      .replace(/[\s\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]+/gu, ' ')
      .replace(/[\p{M}]+/gu, '')
      .trim(),
  ];
  const words = clean.slice(0, MAX_CHARACTERS).join('').split(' ');
  const lines: string[] = [];
  let line = '';
  let isCut = clean.length > MAX_CHARACTERS;
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const joined = line === '' ? word : `${line} ${word}`;
    if (widthOf(joined) <= room) {
      line = joined;
      continue;
    }
    if (lines.length === MAX_LINES - 1) {
      line = joined;
      isCut = true;
      break;
    }
    if (line === '') {
      const head = fitting(word, room);
      lines.push(head);
      words.unshift([...word].slice([...head].length).join(''));
    } else {
      lines.push(line);
      line = '';
      words.unshift(word);
    }
  }
  lines.push(isCut ? `${fitting(line, room - widthOf('…')).trimEnd()}…` : line);
  return lines;
}

function widthOf(text: string): number {
  return [...text].reduce((sum, character) => sum + glyphOf(character).advance, 0);
}

/** As much of the text as fits, one character at least. */
function fitting(text: string, room: number): string {
  const characters = [...text];
  let used = 0;
  let count = 0;
  while (count < characters.length && (used += glyphOf(characters[count]!).advance) <= room) count += 1;
  return characters.slice(0, Math.max(1, count)).join('');
}

interface Pen {
  readonly ink: Float32Array;
  readonly top: number;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly radius: number;
}

function drawStroke(pen: Pen, points: readonly Point[]): void {
  for (let index = 0; index < Math.max(1, points.length - 1); index += 1) {
    drawSegment(pen, points[index]!, points[index + 1] ?? points[index]!);
  }
}

function drawSegment(pen: Pen, [fromX, fromY]: Point, [toX, toY]: Point): void {
  const reach = pen.radius + 1;
  const isDot = fromX === toX && fromY === toY;
  const radius = isDot ? pen.radius * 1.35 : pen.radius;
  const length = (toX - fromX) ** 2 + (toY - fromY) ** 2;
  const bottom = Math.min(pen.heightPx - 1, Math.ceil(Math.max(fromY, toY) + reach));
  const right = Math.min(pen.widthPx - 1, Math.ceil(Math.max(fromX, toX) + reach));
  for (let y = Math.max(pen.top, Math.floor(Math.min(fromY, toY) - reach)); y <= bottom; y += 1) {
    for (let x = Math.max(0, Math.floor(Math.min(fromX, toX) - reach)); x <= right; x += 1) {
      const along = isDot
        ? 0
        : clamp01(((x + 0.5 - fromX) * (toX - fromX) + (y + 0.5 - fromY) * (toY - fromY)) / length);
      const away = Math.hypot(x + 0.5 - fromX - (toX - fromX) * along, y + 0.5 - fromY - (toY - fromY) * along);
      const at = (y - pen.top) * pen.widthPx + x;
      pen.ink[at] = Math.max(pen.ink[at]!, clamp01(radius + 0.5 - away));
    }
  }
}
