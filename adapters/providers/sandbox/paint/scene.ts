import type { Color } from './color.js';
import { choosePalette, type Palette } from './palette.js';
import { hashText, Random } from './random.js';
import { readPrompt, type Figure, type Reading } from './reading.js';
import type { Element, Time } from './vocabulary.js';

/** Everything a picture shows, with no size and no time in it: the same scene paints large, small and moving. */
export interface Scene {
  readonly kind: 'landscape' | 'still life';
  readonly time: Time;
  readonly palette: Palette;
  readonly random: Random;
  readonly elements: ReadonlyMap<Element, Color | undefined>;
  readonly figures: readonly Figure[];
  /** Of the picture's height, from the top. */
  readonly horizon: number;
  /** Where the sun or the moon stands, in shares of width and height. */
  readonly lightX: number;
  readonly lightY: number;
}

export interface SceneRequest {
  readonly prompt: string;
  readonly negativePrompt: string;
  /** Absent: the prompt alone decides. */
  readonly seed?: number | undefined;
  /** Which of several pictures of one request. */
  readonly index: number;
  /** Mean colours of reference pictures. */
  readonly tints: readonly Color[];
}

export function composeScene(request: SceneRequest): Scene {
  const random = new Random(
    hashText(JSON.stringify([request.prompt, request.negativePrompt, request.seed ?? null, request.index])),
  );
  const reading = readPrompt(request.prompt);
  const unwanted = readPrompt(request.negativePrompt);
  const figures = reading.figures.filter((figure) => !unwanted.figures.some((other) => other.kind === figure.kind));
  const isStill = figures.length > 0 && reading.elements.size === 0 && reading.time === undefined;
  const time = chooseTime(reading, unwanted, random.fork('time'));
  const elements = isStill
    ? new Map<Element, Color | undefined>()
    : chooseElements(reading, unwanted, time, random.fork('elements'));
  const place = random.fork('light');
  const low = time === 'dusk' || time === 'dawn' || time === 'golden';
  return {
    kind: isStill ? 'still life' : 'landscape',
    time,
    palette: choosePalette(time, random.fork('palette'), [...reading.tints, ...request.tints].slice(0, 4)),
    random,
    elements,
    figures,
    horizon: elements.has('sea') ? place.between(0.54, 0.6) : place.between(0.6, 0.66),
    lightX: place.chance(0.5) ? place.between(0.22, 0.4) : place.between(0.6, 0.78),
    lightY: low ? place.between(0.4, 0.47) : place.between(0.15, 0.24),
  };
}

function chooseTime(reading: Reading, unwanted: Reading, random: Random): Time {
  if (reading.time !== undefined) return reading.time;
  if (['moon', 'stars', 'aurora'].some((name) => reading.elements.has(name as Element))) return 'night';
  if (reading.elements.has('rainbow')) return 'day';
  const chosen = random.pick<Time>(['dawn', 'day', 'golden', 'dusk', 'dusk', 'night']);
  return chosen === unwanted.time ? (chosen === 'day' ? 'dusk' : 'day') : chosen;
}

function chooseElements(
  reading: Reading,
  unwanted: Reading,
  time: Time,
  random: Random,
): Map<Element, Color | undefined> {
  const elements = new Map(reading.elements);
  const add = (element: Element, wanted: boolean): void => {
    if (wanted && !elements.has(element)) elements.set(element, undefined);
  };
  const roll = {
    sea: random.chance(0.55),
    mountain: random.chance(0.75),
    tree: random.chance(0.7),
    cloud: random.chance(0.8),
    bird: random.chance(0.5),
  };
  const isOpen = !['desert', 'hill', 'house', 'flower', 'tree'].some((name) => elements.has(name as Element));
  add('sea', elements.has('lighthouse') || elements.has('boat') || elements.has('beach') || (isOpen && roll.sea));
  add('mountain', roll.mountain && !elements.has('lighthouse') && !elements.has('city') && !elements.has('desert'));
  add('tree', roll.tree && !elements.has('desert') && !elements.has('city'));
  add('cloud', roll.cloud && time !== 'night');
  add('bird', roll.bird && time !== 'night' && !elements.has('rain'));
  add('stars', time === 'night');
  add(
    time === 'night' ? 'moon' : 'sun',
    !elements.has('sun') &&
      !elements.has('moon') &&
      !elements.has('rain') &&
      !(time === 'night' && elements.has('aurora')),
  );
  for (const element of unwanted.elements.keys()) elements.delete(element);
  return elements;
}
