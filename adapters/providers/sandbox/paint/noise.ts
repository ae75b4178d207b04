import { lattice } from './random.js';

function fade(t: number): number {
  return t * t * (3 - 2 * t);
}

/** Smooth value noise, 0 to 1. */
export function noise(x: number, y: number, seed: number): number {
  const left = Math.floor(x);
  const top = Math.floor(y);
  const u = fade(x - left);
  const v = fade(y - top);
  const above = lattice(left, top, seed) * (1 - u) + lattice(left + 1, top, seed) * u;
  const below = lattice(left, top + 1, seed) * (1 - u) + lattice(left + 1, top + 1, seed) * u;
  return above * (1 - v) + below * v;
}

/** Several octaves of `noise`, each twice as fine and about half as strong, 0 to 1. */
export function fractalNoise(x: number, y: number, seed: number, octaves: number): number {
  let sum = 0;
  let weight = 0.5;
  let total = 0;
  for (let octave = 0; octave < octaves; octave += 1) {
    sum += weight * noise(x, y, seed + octave * 1013);
    total += weight;
    weight *= 0.5;
    // Turning the lattice between octaves hides its grid.
    const turned = 1.6 * x + 1.2 * y;
    y = 1.6 * y - 1.2 * x;
    x = turned;
  }
  return sum / total;
}

/** Sharp crests with smooth valleys between them, 0 to 1: the outline of a mountain range. */
export function ridgedNoise(x: number, seed: number, octaves: number): number {
  let sum = 0;
  let weight = 0.5;
  let total = 0;
  for (let octave = 0; octave < octaves; octave += 1) {
    const crest = 1 - Math.abs(2 * noise(x, octave * 7.3, seed + octave * 7919) - 1);
    sum += weight * crest * crest;
    total += weight;
    weight *= 0.48;
    x *= 2.1;
  }
  return sum / total;
}
