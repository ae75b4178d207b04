/**
 * Runs the writes of one key one after the other: over different connections of a pool, they may arrive in any order. Writes of
 * other keys run meanwhile.
 */
export class Turns {
  /** The last write of each key that is in progress. */
  private readonly underWay = new Map<string, Promise<unknown>>();

  async inTurn(key: string, write: () => Promise<void>): Promise<void> {
    const turn = (this.underWay.get(key) ?? Promise.resolve()).then(write, write);
    this.underWay.set(key, turn);
    try {
      await turn;
    } finally {
      if (this.underWay.get(key) === turn) this.underWay.delete(key);
    }
  }
}
