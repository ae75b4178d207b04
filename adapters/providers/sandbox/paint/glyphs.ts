import { ACCENT_STROKES, GLYPH_STROKES } from './glyph-strokes.js';
import type { Point } from './shape.js';

/** Distance from the top of a capital to the baseline, in the units of the stroke tables. */
export const CAP_HEIGHT = 18;
export const BASELINE = 22;

export interface Glyph {
  readonly advance: number;
  /** Straight segments, end to end. */
  readonly strokes: readonly (readonly Point[])[];
}

const SPACING = 4.6;
const SPACE_ADVANCE = 6.5;
const FALLBACK = '\uFFFD';
const LOOKALIKES: Readonly<Record<string, string>> = {
  '\u2018': "'",
  '\u2019': "'",
  '\u201A': ',',
  '\u201C': '"',
  '\u201D': '"',
  '\u201E': '"',
  '\u2010': '-',
  '\u2011': '-',
  '\u2012': '–',
  '\u2212': '-',
  '\u00D7': 'x',
  '\u2022': '·',
  '\u0131': 'i',
  '\u2032': "'",
  '\u2033': '"',
  '\u00A6': '|',
  '\u00B4': "'",
};

const known = new Map<string, Glyph>();

/** The glyph of one character, with its accents; a box for what the tables do not have. */
export function glyphOf(character: string): Glyph {
  if (character === ' ') return { advance: SPACE_ADVANCE, strokes: [] };
  const found = known.get(character);
  if (found !== undefined) return found;
  const glyph = compose(character);
  // Enough for every letter of the tables with every accent; a prompt full of boxes must not grow it without end.
  if (known.size < 2000) known.set(character, glyph);
  return glyph;
}

function compose(character: string): Glyph {
  const [letter = FALLBACK, ...marks] = LOOKALIKES[character] ?? character.normalize('NFD');
  const source = Object.hasOwn(GLYPH_STROKES, letter) ? GLYPH_STROKES[letter]! : GLYPH_STROKES[FALLBACK]!;
  const base = parse(source);
  const isTall = /\p{Lu}|[bdfhklt]/u.test(letter);
  const accents = marks
    .filter((mark) => Object.hasOwn(ACCENT_STROKES, mark))
    .flatMap((mark) => {
      const shiftX = base.advance / 2 - 5;
      const shiftY = isTall && mark !== '\u0327' && mark !== '\u0328' ? -6 : 0;
      return parse(ACCENT_STROKES[mark]!).strokes.map((stroke) =>
        stroke.map(([x, y]) => [x + shiftX, y + shiftY] as const),
      );
    });
  // An accented i loses its dot, the last of its strokes.
  const kept = accents.length > 0 && (letter === 'i' || letter === 'j') ? base.strokes.slice(0, -1) : base.strokes;
  return { advance: base.advance + SPACING, strokes: [...kept, ...accents] };
}

function parse(source: string): Glyph {
  const colon = source.indexOf(':');
  const strokes = source
    .slice(colon + 1)
    .split('|')
    .map((stroke) => {
      const kind = stroke[0];
      const curved = kind === '~' || kind === '@';
      const pairs = (curved ? stroke.slice(1) : stroke).split(' ');
      const points = pairs.map((pair): Point => [Number.parseInt(pair[0]!, 36), Number.parseInt(pair[1]!, 36)]);
      return curved ? smooth(points, kind === '@') : points;
    });
  return { advance: Number(source.slice(0, colon)), strokes };
}

/** A Catmull-Rom curve through the points, cut into short straight pieces. */
function smooth(points: readonly Point[], closed: boolean): Point[] {
  const count = points.length;
  const at = (index: number): Point =>
    points[closed ? (index + count) % count : Math.min(count - 1, Math.max(0, index))]!;
  const curve: Point[] = [];
  for (let index = 0; index < (closed ? count : count - 1); index += 1) {
    for (let step = 0; step < 6; step += 1) {
      const t = step / 6;
      curve.push(
        [0, 1].map((axis) => {
          const [a, b, c, d] = [at(index - 1)[axis]!, at(index)[axis]!, at(index + 1)[axis]!, at(index + 2)[axis]!];
          return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
        }) as unknown as Point,
      );
    }
  }
  curve.push(closed ? points[0]! : points[count - 1]!);
  return curve;
}
