import { hex, type Color } from './canvas.js';

export type Time = keyof typeof TIME_WORDS;
export type Element = keyof typeof ELEMENT_WORDS;
export type FigureKind = keyof typeof FIGURE_WORDS;

/** The things that a prompt names, as far as the painter knows the words. */
export type Reading = Readonly<ReturnType<typeof readPrompt>>;

const MAX_FIGURES = 9;
const MAX_WORDS = 600;
/** The most words between a colour and the thing that it colours, as in "a red wooden house". */
const COLOR_REACH = 2;

export function readPrompt(prompt: string) {
  const plain = prompt.slice(0, 16_000).normalize('NFKD').toLowerCase();
  const words = plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  /** With the colour that the prompt gives each, if any. */
  const elements = new Map<Element, Color | undefined>();
  const figures: { kind: FigureKind; color: Color | undefined }[] = [];
  /** By position, the colours that no thing has taken: they set the mood. */
  const colors = new Map<number, Color>();
  let time: Time | undefined;
  let latest = -Infinity;
  let count = 1;
  for (const [at, word] of words.slice(0, MAX_WORDS).entries()) {
    const color = at - latest <= COLOR_REACH + 1 ? colors.get(latest) : undefined;
    const meaning = meaningOf(word, color !== undefined || count > 1);
    time ??= meaning.time;
    if (meaning.element !== undefined || meaning.figure !== undefined) {
      const kind = meaning.figure;
      if (meaning.element !== undefined) elements.set(meaning.element, color ?? elements.get(meaning.element));
      if (kind !== undefined) figures.push(...Array.from({ length: count }, () => ({ kind, color })));
      if (color !== undefined) colors.delete(latest);
      latest = -Infinity;
      count = 1;
    } else if (meaning.color !== undefined) {
      colors.set(at, meaning.color);
      latest = at;
    }
    count = meaning.count ?? count;
  }
  return { time, elements, figures: figures.slice(0, MAX_FIGURES), tints: [...colors.values()] };
}

/**
 * The meaning of one word, which can name a time and a thing at once ("moonlit"). Stars that are counted or coloured
 * (`isDescribed`) are figures; other stars are part of the sky.
 */
export function meaningOf(word: string, isDescribed = false) {
  const forms = [word, word.replace(/s$/, ''), word.replace(/es$/, ''), word.replace(/ies$/, 'y')];
  const find = <K>(table: ReadonlyMap<string, K>): K | undefined =>
    forms.map((form) => table.get(form)).find((kind) => kind !== undefined);
  const element = find(ELEMENTS);
  const [color, count] = [COLORS.get(word), COUNTS.get(word)];
  if (element === 'stars' && isDescribed) return { figure: 'star' as const, color, count };
  const figure = element === undefined ? find(FIGURES) : undefined;
  return { time: find(TIMES), element, figure, color, count };
}

const TIME_WORDS = {
  dawn: 'dawn sunrise daybreak morning',
  day: 'noon midday day daylight daytime sunny afternoon summer spring',
  golden: 'golden autumn fall',
  dusk: 'dusk sunset twilight evening gloaming',
  night: 'night midnight nocturnal starry moonlit moonlight nighttime',
};

const ELEMENT_WORDS = {
  sun: 'sun sunlight',
  moon: 'moon moonlight moonlit',
  stars: 'stars starry galaxy space cosmos milky',
  mountain: 'mountain peak alp alps summit range volcano cliff mont fuji himalaya',
  sea: 'sea ocean lake river water bay harbor harbour wave pond coast shore fjord lagoon reflection',
  lighthouse: 'lighthouse beacon',
  tree: 'tree forest pine wood woods woodland spruce fir jungle orchard',
  house: 'house cabin cottage home hut village farm barn castle',
  boat: 'boat ship sail sailboat sailing yacht vessel',
  cloud: 'cloud cloudy overcast sky',
  bird: 'bird gull seagull flock',
  aurora: 'aurora northern borealis',
  snow: 'snow snowy winter ice icy blizzard frozen',
  rain: 'rain rainy storm stormy',
  fog: 'fog foggy mist misty haze hazy',
  city: 'city skyline skyscraper town downtown building urban metropolis',
  rainbow: 'rainbow',
  desert: 'desert dune sahara sand',
  hill: 'hill valley meadow field landscape countryside grass',
  beach: 'beach island',
  flower: 'flower poppy tulip lavender blossom bloom',
};

const FIGURE_WORDS = {
  circle: 'circle disc disk ball sphere dot',
  square: 'square cube box',
  triangle: 'triangle pyramid',
  star: 'star',
  heart: 'heart love',
  diamond: 'diamond rhombus',
  hexagon: 'hexagon',
  ring: 'ring donut hoop',
};

const COLOR_WORDS = [
  'red d93a3f, crimson b81d3c, scarlet e0342b, orange f08a2e, amber f5ac33, yellow f6cf3f, gold e6b03c, green 3f9e57',
  'emerald 1f9d6b, lime 9fd043, olive 83873b, teal 1f9090, turquoise 3cc4bd, cyan 43c3df, blue 3468cf, azure 3f97e8',
  'navy 22336f, indigo 4a3fa5, purple 7d44b0, violet 8a55d0, magenta d03c9b, pink f08fb4, rose e86a8a, brown 85583a',
  'beige dfcaa6, white f5f3ee, black 1d1c24, gray 8b8f98, grey 8b8f98, silver bcc3cc, coral f4775f, lavender b39ddb',
  'mint 9ad9b8, maroon 7a2436, peach f8b88f',
];

const COUNT_WORDS = '1|2 two pair|3 three|4 four several|5 five|6 six many|7 seven|8 eight|9 nine'.split('|');

function byWord<K extends string>(table: Readonly<Record<K, string>>): ReadonlyMap<string, K> {
  const kinds = Object.keys(table) as K[];
  return new Map(kinds.flatMap((kind) => table[kind].split(' ').map((word) => [word, kind] as const)));
}

const TIMES = byWord(TIME_WORDS);
const ELEMENTS = byWord(ELEMENT_WORDS);
const FIGURES = byWord(FIGURE_WORDS);
const COLORS = new Map(
  COLOR_WORDS.flatMap((line) => line.split(', ')).map((entry) => [entry.slice(0, -7), hex(entry.slice(-6))]),
);
const COUNTS = new Map(COUNT_WORDS.flatMap((words, index) => words.split(' ').map((word) => [word, index + 1])));
