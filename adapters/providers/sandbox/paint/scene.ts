import { hex, mix, type Canvas, type Color } from './canvas.js';
import { readPrompt, type Element, type Figure, type Reading, type Time } from './prompt.js';
import { hashText, Random } from './random.js';

/** Everything a picture shows, without a size or a moment: one scene is painted large, small and moving. */
export interface Scene {
  readonly kind: 'landscape' | 'still life';
  readonly time: Time;
  readonly palette: Palette;
  readonly random: Random;
  readonly elements: ReadonlyMap<Element, Color | undefined>;
  readonly figures: readonly Figure[];
  /** The share of the picture's height above the horizon. */
  readonly horizon: number;
  /** The position of the sun or the moon, as shares of width and height. */
  readonly lightX: number;
  readonly lightY: number;
}

/** One moment of a scene while it is painted. Lengths are in pixels unless said otherwise. */
export interface Frame extends Scene {
  readonly canvas: Canvas;
  readonly seconds: number;
  readonly progress: number;
  readonly width: number;
  readonly height: number;
  /** The shorter side: the size of every thing is a share of it. */
  readonly unit: number;
  readonly horizonY: number;
  /** The position of the light at this moment. */
  readonly sunX: number;
  readonly sunY: number;
  /** 1 where the light is on the left, so that things stand on the right of the middle; else -1. */
  readonly side: 1 | -1;
}

/**
 * Composes picture number `index` of a request. Without a seed, the prompts alone decide. The tints are the mean colours of
 * the reference pictures.
 */
export function composeScene(
  { prompt, negativePrompt }: { readonly prompt: string; readonly negativePrompt: string },
  seed: number | undefined,
  index: number,
  tints: readonly Color[],
): Scene {
  const random = new Random(hashText(JSON.stringify([prompt, negativePrompt, seed ?? null, index])));
  const reading = readPrompt(prompt);
  const unwanted = readPrompt(negativePrompt);
  const figures = reading.figures.filter((figure) => !unwanted.figures.some((other) => other.kind === figure.kind));
  const isStill = figures.length > 0 && reading.elements.size === 0 && reading.time === undefined;
  const time = chooseTime(reading, unwanted, random.fork('time'));
  const elements = isStill
    ? new Map<Element, Color>()
    : chooseElements(reading, unwanted, time, random.fork('elements'));
  const place = random.fork('light');
  const isLow = time === 'dusk' || time === 'dawn' || time === 'golden';
  return {
    kind: isStill ? 'still life' : 'landscape',
    time,
    palette: choosePalette(time, random.fork('palette'), [...reading.tints, ...tints].slice(0, 4)),
    random,
    elements,
    figures,
    horizon: elements.has('sea') ? place.between(0.54, 0.6) : place.between(0.6, 0.66),
    lightX: place.chance(0.5) ? place.between(0.22, 0.4) : place.between(0.6, 0.78),
    lightY: isLow ? place.between(0.4, 0.47) : place.between(0.15, 0.24),
  };
}

function chooseTime({ time, elements }: Reading, unwanted: Reading, random: Random): Time {
  if (time !== undefined) return time;
  if (elements.has('moon') || elements.has('stars') || elements.has('aurora')) return 'night';
  if (elements.has('rainbow')) return 'day';
  const chosen = random.pick<Time>(['dawn', 'day', 'golden', 'dusk', 'dusk', 'night']);
  return chosen === unwanted.time ? (chosen === 'day' ? 'dusk' : 'day') : chosen;
}

function chooseElements(reading: Reading, unwanted: Reading, time: Time, random: Random): Scene['elements'] {
  const elements = new Map(reading.elements);
  const hasAny = (...names: Element[]): boolean => names.some((name) => elements.has(name));
  const add = (element: Element, isWanted: boolean): void => {
    if (isWanted && !elements.has(element)) elements.set(element, undefined);
  };
  const sea = random.chance(0.55);
  const mountain = random.chance(0.75);
  const tree = random.chance(0.7);
  const cloud = random.chance(0.8);
  const bird = random.chance(0.5);
  const isNight = time === 'night';
  const isOpen = !hasAny('desert', 'hill', 'house', 'flower', 'tree');
  add('sea', hasAny('lighthouse', 'boat', 'beach') || (isOpen && sea));
  add('mountain', mountain && !hasAny('lighthouse', 'city', 'desert'));
  add('tree', tree && !hasAny('desert', 'city'));
  add('cloud', cloud && !isNight);
  add('bird', bird && !isNight && !hasAny('rain'));
  add('stars', isNight);
  add(isNight ? 'moon' : 'sun', !hasAny('sun', 'moon', 'rain') && !(isNight && hasAny('aurora')));
  for (const element of unwanted.elements.keys()) elements.delete(element);
  return elements;
}

export interface Palette {
  /** From the zenith down to the horizon. */
  readonly sky: readonly Color[];
  /** The light of the sun or the moon. */
  readonly light: Color;
  readonly cloud: Color;
  /** The farthest and the nearest land. */
  readonly far: Color;
  readonly near: Color;
  readonly water: Color;
  /** From 0 at night to 1 at noon. */
  readonly brightness: number;
}

/** Five colours of the sky, then light, cloud, far, near and water, then the brightness. */
const PALETTES: Readonly<Record<Time, readonly [string, ...string[]]>> = {
  dawn: [
    '37508a 7a86b8 d8a3b4 f7c3a4 ffe3b8 fff0cf ffd5c4 a791b3 2c3350 3d5a80 0.65',
    '2f5d8c 6fa0b8 b9cfc6 f5dcb8 ffe9c4 fff4d8 fff0dd 96b0b8 24404a 2f6478 0.7',
  ],
  day: [
    '2a6fc4 4f97dd 86bfec bfdff2 e4f2f1 fffbe8 ffffff 8fb3cc 1f4a3c 1f6c98 1',
    '1f7fb8 49a8d2 8fd0e2 c9e9e6 f3f6e4 fff8dc ffffff 93bcc4 2b5236 1d8296 1',
  ],
  golden: [
    '3a6594 7a9db5 cdbf9f f6cf8a ffd88f fff0b8 ffe7bd c29a78 42291f 4b6b78 0.75',
    '56648f a38f9e e0a67f f8bd6a ffd57d fff2c2 ffdcb0 b98a74 3a2530 5a6478 0.7',
  ],
  dusk: [
    '211d52 51347f a8457f ec6f66 ffb765 ffe3a3 f58a79 84477a 17122b 35275c 0.4',
    '1c2a58 3f4f8c 8c6aa0 e48b8b ffc58a ffe9bd f3a49b 75608f 16182f 2c3a68 0.45',
    '2b1a3f 6b2a56 b83f51 ee7a43 ffc24f ffe79a f0784f 7c3a4e 1c0f1e 4a2440 0.4',
  ],
  night: [
    '04071a 0a1433 142653 24407a 40639a eaf1ff 5f7bb0 263f6e 050a18 10244a 0.1',
    '07051d 150f3d 291d5e 433180 6a5299 f1ecff 7a6bb0 3a2f6b 080618 1d1748 0.1',
    '03101c 06222f 0d3a47 195560 33787a e8fff8 5b9a9c 1d4e58 030d12 0b3440 0.1',
  ],
};

/** The colours of a time of day. The tints shift them towards the colours that the prompt asks for. */
function choosePalette(time: Time, random: Random, tints: readonly Color[]): Palette {
  const words = random.pick(PALETTES[time]).split(' ');
  const brightness = Number(words.pop());
  const colors = words.map(hex);
  const [light, cloud, far, near, water] = colors.splice(5) as [Color, Color, Color, Color, Color];
  if (tints.length === 0) return { sky: colors, light, cloud, far, near, water, brightness };
  const tintAt = (position: number): Color => tints[Math.floor(position * tints.length)]!;
  const dimTintAt = (position: number): Color => mix([0, 0, 0], tintAt(position), Math.max(0.25, brightness));
  return {
    sky: colors.map((color, index) =>
      mix(color, index < 3 ? dimTintAt(index / 5) : mix(tintAt(index / 5), color, 0.45), 0.55),
    ),
    light,
    cloud: mix(cloud, tintAt(0), 0.2),
    far: mix(far, dimTintAt(0.5), 0.5),
    near: mix(near, dimTintAt(0.99), 0.18),
    water: mix(water, dimTintAt(0), 0.4),
    brightness,
  };
}
