import type { Size } from '../plan.js';
import type { RenderJob } from '../render.js';
import { Canvas, hex, mix, scale, type Color } from './canvas.js';
import { readPrompt, type Element, type Reading, type Time } from './prompt.js';
import { hashText, Random } from './random.js';

/** Everything a picture shows, without a size or a moment: one scene is painted large, small and moving. */
export type Scene = ReturnType<typeof composeScene>;

/** One moment of a scene while it is painted. Lengths are in pixels unless said otherwise. */
export type Frame = ReturnType<typeof frameOf>;

/**
 * Composes picture number `index` of a request. Without a seed, the prompts alone decide. The tints are the mean colours of
 * the reference pictures.
 */
export function composeScene(
  { prompt, negativePrompt, plan: { seed } }: RenderJob,
  index: number,
  tints: readonly Color[],
) {
  const random = new Random(hashText(JSON.stringify([prompt, negativePrompt, seed ?? null, index])));
  const reading = readPrompt(prompt);
  const unwanted = readPrompt(negativePrompt);
  const figures = reading.figures.filter((figure) => !unwanted.figures.some((other) => other.kind === figure.kind));
  const isStill = figures.length > 0 && reading.elements.size === 0 && reading.time === undefined;
  const time = chooseTime(reading, unwanted, random.fork('time'));
  const elements: Reading['elements'] = isStill
    ? new Map()
    : chooseElements(reading, unwanted, time, random.fork('elements'));
  const palette = choosePalette(time, random.fork('palette'), [...reading.tints, ...tints].slice(0, 4));
  const place = random.fork('light');
  const side = place.chance(0.5) ? 1 : -1;
  return {
    /** Figures before a plain sky; else a landscape. */
    isStill,
    time,
    palette,
    random,
    elements,
    figures,
    /** The share of the picture's height above the horizon. */
    horizon: elements.has('sea') ? place.between(0.54, 0.6) : place.between(0.6, 0.66),
    /** 1 where the light is on the left, so that things stand on the right of the middle; else -1. */
    side,
    /** The position of the sun or the moon, as shares of width and height. */
    lightX: 0.5 - side * place.between(0.1, 0.28),
    lightY: time === 'day' || time === 'night' ? place.between(0.15, 0.24) : place.between(0.4, 0.47),
    /** Whether lamps are lit. */
    isDark: palette.brightness < 0.7,
    /** The factor that darkens the colours of things, 1 at noon. */
    dim: 0.46 + 0.54 * palette.brightness,
  } as const;
}

/** `seconds` since the first frame; `progress` from 0 at the first frame to 1 at the last. */
export function frameOf(scene: Scene, { widthPx: width, heightPx: height }: Size, seconds: number, progress: number) {
  // The sun climbs at dawn, sinks in the evening, and otherwise hardly moves.
  const climb = { dawn: -0.09, day: -0.03, golden: 0.09, dusk: 0.09, night: -0.03 }[scene.time];
  return {
    ...scene,
    canvas: new Canvas(width, height, { color: scene.palette.light, side: scene.side }),
    seconds,
    progress,
    width,
    height,
    /** The shorter side: the size of every thing is a share of it. */
    unit: Math.min(width, height),
    horizonY: Math.round(scene.horizon * height),
    sunX: (scene.lightX + 0.03 * progress) * width,
    sunY: (scene.lightY + climb * progress) * height,
  };
}

function chooseTime({ time, elements }: Reading, unwanted: Reading, random: Random): Time {
  if (time !== undefined) return time;
  if (elements.has('moon') || elements.has('stars') || elements.has('aurora')) return 'night';
  if (elements.has('rainbow')) return 'day';
  const chosen = random.pick<Time>(['dawn', 'day', 'golden', 'dusk', 'dusk', 'night']);
  return chosen === unwanted.time ? (chosen === 'day' ? 'dusk' : 'day') : chosen;
}

function chooseElements(reading: Reading, unwanted: Reading, time: Time, random: Random): Reading['elements'] {
  const elements = new Map(reading.elements);
  const hasAny = (...names: Element[]): boolean => names.some((name) => elements.has(name));
  const add = (element: Element, probability: number, isFit: boolean): void => {
    // The number is drawn in any case, so that one more word does not change what else is chosen.
    if (random.chance(probability) && isFit && !elements.has(element)) elements.set(element, undefined);
  };
  const isNight = time === 'night';
  add('sea', 1, hasAny('lighthouse', 'boat', 'beach'));
  add('sea', 0.55, !hasAny('desert', 'hill', 'house', 'flower', 'tree'));
  add('mountain', 0.75, !hasAny('lighthouse', 'city', 'desert'));
  add('tree', 0.7, !hasAny('desert', 'city'));
  add('cloud', 0.8, !isNight);
  add('bird', 0.5, !isNight && !hasAny('rain'));
  add('stars', 1, isNight);
  add(isNight ? 'moon' : 'sun', 1, !hasAny('sun', 'moon', 'rain') && !(isNight && hasAny('aurora')));
  for (const element of unwanted.elements.keys()) elements.delete(element);
  return elements;
}

/** The time of day, its brightness, then light, cloud, far, near and water, then five colours of the sky. */
const PALETTES = [
  'dawn   0.65 fff0cf ffd5c4 a791b3 2c3350 3d5a80 37508a 7a86b8 d8a3b4 f7c3a4 ffe3b8',
  'dawn   0.70 fff4d8 fff0dd 96b0b8 24404a 2f6478 2f5d8c 6fa0b8 b9cfc6 f5dcb8 ffe9c4',
  'day    1.00 fffbe8 ffffff 8fb3cc 1f4a3c 1f6c98 2a6fc4 4f97dd 86bfec bfdff2 e4f2f1',
  'day    1.00 fff8dc ffffff 93bcc4 2b5236 1d8296 1f7fb8 49a8d2 8fd0e2 c9e9e6 f3f6e4',
  'golden 0.75 fff0b8 ffe7bd c29a78 42291f 4b6b78 3a6594 7a9db5 cdbf9f f6cf8a ffd88f',
  'golden 0.70 fff2c2 ffdcb0 b98a74 3a2530 5a6478 56648f a38f9e e0a67f f8bd6a ffd57d',
  'dusk   0.40 ffe3a3 f58a79 84477a 17122b 35275c 211d52 51347f a8457f ec6f66 ffb765',
  'dusk   0.45 ffe9bd f3a49b 75608f 16182f 2c3a68 1c2a58 3f4f8c 8c6aa0 e48b8b ffc58a',
  'dusk   0.40 ffe79a f0784f 7c3a4e 1c0f1e 4a2440 2b1a3f 6b2a56 b83f51 ee7a43 ffc24f',
  'night  0.10 eaf1ff 5f7bb0 263f6e 050a18 10244a 04071a 0a1433 142653 24407a 40639a',
  'night  0.10 f1ecff 7a6bb0 3a2f6b 080618 1d1748 07051d 150f3d 291d5e 433180 6a5299',
  'night  0.10 e8fff8 5b9a9c 1d4e58 030d12 0b3440 03101c 06222f 0d3a47 195560 33787a',
].map((line) => line.split(/ +/));

/** The colours of a time of day. The tints shift them towards the colours that the prompt asks for. */
function choosePalette(time: Time, random: Random, tints: readonly Color[]) {
  const [, share, ...colors] = random.pick(PALETTES.filter(([name]) => name === time));
  const brightness = Number(share);
  const dimmed = Math.max(0.25, brightness);
  const tinted = (color: Color, position: number, tintShare: number, dim = dimmed): Color =>
    tints.length === 0 ? color : mix(color, scale(tints[Math.floor(position * tints.length)]!, dim), tintShare);
  const [light, cloud, far, near, water, ...plainSky] = colors.map(hex) as [Color, Color, Color, Color, Color];
  const sky = plainSky.map((color, row) => (row < 3 ? tinted(color, row / 5, 0.55) : tinted(color, row / 5, 0.3, 1)));
  return {
    /** From the zenith down to the horizon. */
    sky,
    /** The sky at the horizon, which colours distant things. */
    mist: sky.at(-1)!,
    /** The light of the sun or the moon. */
    light,
    cloud: tinted(cloud, 0, 0.2, 1),
    /** The farthest and the nearest land. */
    far: tinted(far, 0.5, 0.5),
    near: tinted(near, 0.99, 0.18),
    water: tinted(water, 0, 0.4),
    /** From 0 at night to 1 at noon. */
    brightness,
  };
}
