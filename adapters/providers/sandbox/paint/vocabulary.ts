import { hex, type Color } from './color.js';

export type Time = 'dawn' | 'day' | 'golden' | 'dusk' | 'night';
export type Element =
  | 'sun'
  | 'moon'
  | 'stars'
  | 'mountain'
  | 'sea'
  | 'lighthouse'
  | 'tree'
  | 'house'
  | 'boat'
  | 'cloud'
  | 'bird'
  | 'aurora'
  | 'snow'
  | 'rain'
  | 'fog'
  | 'city'
  | 'rainbow'
  | 'desert'
  | 'hill'
  | 'beach'
  | 'flower';
export type FigureKind = 'circle' | 'square' | 'triangle' | 'star' | 'heart' | 'diamond' | 'hexagon' | 'ring';

const TIME_WORDS: Readonly<Record<Time, string>> = {
  dawn: 'dawn sunrise daybreak morning',
  day: 'noon midday day daylight daytime sunny afternoon summer spring',
  golden: 'golden autumn fall',
  dusk: 'dusk sunset twilight evening gloaming',
  night: 'night midnight nocturnal starry moonlit moonlight nighttime',
};

const ELEMENT_WORDS: Readonly<Record<Element, string>> = {
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

const FIGURE_WORDS: Readonly<Record<FigureKind, string>> = {
  circle: 'circle disc disk ball sphere dot',
  square: 'square cube box',
  triangle: 'triangle pyramid',
  star: 'star',
  heart: 'heart love',
  diamond: 'diamond rhombus',
  hexagon: 'hexagon',
  ring: 'ring donut hoop',
};

const COLOR_WORDS: Readonly<Record<string, string>> = {
  red: 'd93a3f',
  crimson: 'b81d3c',
  scarlet: 'e0342b',
  orange: 'f08a2e',
  amber: 'f5ac33',
  yellow: 'f6cf3f',
  gold: 'e6b03c',
  green: '3f9e57',
  emerald: '1f9d6b',
  lime: '9fd043',
  olive: '83873b',
  teal: '1f9090',
  turquoise: '3cc4bd',
  cyan: '43c3df',
  blue: '3468cf',
  azure: '3f97e8',
  navy: '22336f',
  indigo: '4a3fa5',
  purple: '7d44b0',
  violet: '8a55d0',
  magenta: 'd03c9b',
  pink: 'f08fb4',
  rose: 'e86a8a',
  brown: '85583a',
  beige: 'dfcaa6',
  white: 'f5f3ee',
  black: '1d1c24',
  gray: '8b8f98',
  grey: '8b8f98',
  silver: 'bcc3cc',
  coral: 'f4775f',
  lavender: 'b39ddb',
  mint: '9ad9b8',
  maroon: '7a2436',
  peach: 'f8b88f',
};

const NUMBER_WORDS: Readonly<Record<string, number>> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  pair: 2,
  several: 4,
  many: 6,
};

function index<K extends string>(table: Readonly<Record<K, string>>): ReadonlyMap<string, K> {
  return new Map(
    (Object.keys(table) as K[]).flatMap((kind) => table[kind].split(' ').map((word) => [word, kind] as const)),
  );
}

const TIMES = index(TIME_WORDS);
const ELEMENTS = index(ELEMENT_WORDS);
const FIGURES = index(FIGURE_WORDS);

/** What one word of a prompt stands for; a word can name a time and a thing at once ("moonlit"). */
export interface Meaning {
  readonly time?: Time | undefined;
  readonly element?: Element | undefined;
  readonly figure?: FigureKind | undefined;
  readonly color?: Color | undefined;
  readonly count?: number | undefined;
}

export function meaningOf(word: string): Meaning {
  const forms = [word, word.replace(/s$/, ''), word.replace(/es$/, ''), word.replace(/ies$/, 'y')];
  const find = <K>(table: ReadonlyMap<string, K>): K | undefined =>
    forms.map((form) => table.get(form)).find((kind) => kind !== undefined);
  const element = find(ELEMENTS);
  const color = Object.hasOwn(COLOR_WORDS, word) ? hex(COLOR_WORDS[word]!) : undefined;
  const count = /^[1-9]$/.test(word)
    ? Number(word)
    : Object.hasOwn(NUMBER_WORDS, word)
      ? NUMBER_WORDS[word]
      : undefined;
  return { time: find(TIMES), element, figure: element === undefined ? find(FIGURES) : undefined, color, count };
}
