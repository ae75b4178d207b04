import { hex, mix, type Color } from './color.js';
import type { Random } from './random.js';
import type { Time } from './vocabulary.js';

export interface Palette {
  /** From the zenith down to the horizon. */
  readonly sky: readonly Color[];
  /** The sun's or the moon's light. */
  readonly light: Color;
  readonly cloud: Color;
  /** The farthest and the nearest land. */
  readonly far: Color;
  readonly near: Color;
  readonly water: Color;
  /** 0 is night, 1 is noon. */
  readonly brightness: number;
}

function palette(
  sky: string,
  light: string,
  cloud: string,
  far: string,
  near: string,
  water: string,
  brightness: number,
): Palette {
  return {
    sky: sky.split(' ').map(hex),
    light: hex(light),
    cloud: hex(cloud),
    far: hex(far),
    near: hex(near),
    water: hex(water),
    brightness,
  };
}

const PALETTES: Readonly<Record<Time, readonly [Palette, ...Palette[]]>> = {
  dawn: [
    palette('37508a 7a86b8 d8a3b4 f7c3a4 ffe3b8', 'fff0cf', 'ffd5c4', 'a791b3', '2c3350', '3d5a80', 0.65),
    palette('2f5d8c 6fa0b8 b9cfc6 f5dcb8 ffe9c4', 'fff4d8', 'fff0dd', '96b0b8', '24404a', '2f6478', 0.7),
  ],
  day: [
    palette('2a6fc4 4f97dd 86bfec bfdff2 e4f2f1', 'fffbe8', 'ffffff', '8fb3cc', '1f4a3c', '1f6c98', 1),
    palette('1f7fb8 49a8d2 8fd0e2 c9e9e6 f3f6e4', 'fff8dc', 'ffffff', '93bcc4', '2b5236', '1d8296', 1),
  ],
  golden: [
    palette('3a6594 7a9db5 cdbf9f f6cf8a ffd88f', 'fff0b8', 'ffe7bd', 'c29a78', '42291f', '4b6b78', 0.75),
    palette('56648f a38f9e e0a67f f8bd6a ffd57d', 'fff2c2', 'ffdcb0', 'b98a74', '3a2530', '5a6478', 0.7),
  ],
  dusk: [
    palette('211d52 51347f a8457f ec6f66 ffb765', 'ffe3a3', 'f58a79', '84477a', '17122b', '35275c', 0.4),
    palette('1c2a58 3f4f8c 8c6aa0 e48b8b ffc58a', 'ffe9bd', 'f3a49b', '75608f', '16182f', '2c3a68', 0.45),
    palette('2b1a3f 6b2a56 b83f51 ee7a43 ffc24f', 'ffe79a', 'f0784f', '7c3a4e', '1c0f1e', '4a2440', 0.4),
  ],
  night: [
    palette('04071a 0a1433 142653 24407a 40639a', 'eaf1ff', '5f7bb0', '263f6e', '050a18', '10244a', 0.1),
    palette('07051d 150f3d 291d5e 433180 6a5299', 'f1ecff', '7a6bb0', '3a2f6b', '080618', '1d1748', 0.1),
    palette('03101c 06222f 0d3a47 195560 33787a', 'e8fff8', '5b9a9c', '1d4e58', '030d12', '0b3440', 0.1),
  ],
};

/** The colours of a time of day; `tints` pull them towards the colours the prompt asks for. */
export function choosePalette(time: Time, random: Random, tints: readonly Color[]): Palette {
  const chosen = random.pick(PALETTES[time]);
  if (tints.length === 0) return chosen;
  const tintAt = (position: number): Color => tints[Math.min(tints.length - 1, Math.floor(position * tints.length))]!;
  const light = Math.max(0.25, chosen.brightness);
  const dim = (color: Color): Color => mix([0, 0, 0], color, light);
  return {
    ...chosen,
    sky: chosen.sky.map((color, index) =>
      mix(color, index < 3 ? dim(tintAt(index / 5)) : mix(tintAt(index / 5), color, 0.45), 0.55),
    ),
    cloud: mix(chosen.cloud, tintAt(0), 0.2),
    far: mix(chosen.far, dim(tintAt(0.5)), 0.5),
    near: mix(chosen.near, dim(tintAt(0.99)), 0.18),
    water: mix(chosen.water, dim(tintAt(0)), 0.4),
  };
}
