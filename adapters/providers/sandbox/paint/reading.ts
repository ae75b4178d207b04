import type { Color } from './color.js';
import { meaningOf, type Element, type FigureKind, type Meaning, type Time } from './vocabulary.js';

export interface Figure {
  readonly kind: FigureKind;
  readonly color?: Color | undefined;
}

/** What a prompt names, as far as the painter knows the words. */
export interface Reading {
  readonly time?: Time | undefined;
  /** With the colour it was given, if it was. */
  readonly elements: ReadonlyMap<Element, Color | undefined>;
  readonly figures: readonly Figure[];
  /** Colours that belong to nothing in particular: the mood. */
  readonly tints: readonly Color[];
}

const MAX_FIGURES = 9;
const MAX_WORDS = 600;
/** How many words may stand between a colour and the thing it colours: "a red wooden house". */
const COLOR_REACH = 2;

/** Stars that are counted or coloured are shapes; otherwise they belong to the sky. */
function asFigure(meaning: Meaning): Meaning {
  return meaning.element === 'stars' ? { ...meaning, time: undefined, element: undefined, figure: 'star' } : meaning;
}

export function readPrompt(prompt: string): Reading {
  const plain = prompt.slice(0, 16_000).normalize('NFKD').toLowerCase();
  const words = plain
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .slice(0, MAX_WORDS);
  const elements = new Map<Element, Color | undefined>();
  const figures: Figure[] = [];
  const tints: Color[] = [];
  let time: Time | undefined;
  let pending: { color: Color; age: number } | undefined;
  let count = 1;
  for (const word of words) {
    const meaning = pending !== undefined || count > 1 ? asFigure(meaningOf(word)) : meaningOf(word);
    time ??= meaning.time;
    if (meaning.element !== undefined || meaning.figure !== undefined) {
      if (meaning.element !== undefined) elements.set(meaning.element, pending?.color ?? elements.get(meaning.element));
      if (meaning.figure !== undefined) {
        const figure = { kind: meaning.figure, color: pending?.color };
        for (let copy = 0; copy < count && figures.length < MAX_FIGURES; copy += 1) figures.push(figure);
      }
      pending = undefined;
      count = 1;
    } else if (meaning.color !== undefined) {
      if (pending !== undefined) tints.push(pending.color);
      pending = { color: meaning.color, age: 0 };
    } else if (pending !== undefined && (pending.age += 1) > COLOR_REACH) {
      tints.push(pending.color);
      pending = undefined;
    }
    count = meaning.count ?? count;
  }
  if (pending !== undefined) tints.push(pending.color);
  return { time, elements, figures, tints: tints.slice(0, 4) };
}
