/**
 * Writes the times of many keys, those of one key in the order given. Times given while a write of their key is in
 * progress are written once after it, with the last time given, so that at most two writes of a key are pending.
 */
export class LatestWrites {
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly next = new Map<string, { at: number; readonly written: Promise<void> }>();

  constructor(private readonly writeOne: (key: string, at: number) => Promise<void>) {}

  /** Settles as the write does that carries this time, or a later one given for the same key. */
  write(key: string, at: number): Promise<void> {
    const next = this.next.get(key);
    if (next !== undefined) {
      next.at = at;
      return next.written;
    }
    const before = this.underWay.get(key);
    return before === undefined ? this.begin(key, at) : this.follow(key, at, before);
  }

  private begin(key: string, at: number): Promise<void> {
    const written = this.writeOne(key, at).finally(() => this.underWay.delete(key));
    this.underWay.set(key, written);
    return written;
  }

  private follow(key: string, at: number, before: Promise<void>): Promise<void> {
    const written: Promise<void> = before
      .catch(() => undefined)
      .then(() => {
        this.next.delete(key);
        return this.begin(key, entry.at);
      });
    const entry = { at, written };
    this.next.set(key, entry);
    return written;
  }
}
