import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

type Generator = ReturnType<typeof xoroshiro128plus>;

/** Everything that is left to chance in a run comes from here: the same seed draws the same. */
export class Chance {
  private constructor(private readonly generator: Generator) {}

  static from(seed: number): Chance {
    // Neighbouring seeds begin alike; a jump takes them apart.
    const generator = xoroshiro128plus(seed * 7_919 + 1);
    generator.jump();
    return new Chance(generator);
  }

  /** A stream of its own, so that a draw more here does not change what is drawn there. */
  fork(): Chance {
    const copy = this.generator.clone();
    this.generator.jump();
    return new Chance(copy);
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return uniformInt(this.generator, least, most);
  }

  /** True this many times in a thousand. */
  happens(perMille: number): boolean {
    return perMille > 0 && this.between(1, 1_000) <= perMille;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.between(0, from.length - 1)] as T;
  }

  /** Small numbers mostly, and now and then one near `most`. */
  skewed(most: number): number {
    return this.between(0, this.between(0, this.between(0, most)));
  }
}
