import type { ServerResponse } from 'node:http';

/** The responses of each part have their turn together, so that thousands of them do not stop everything else. */
const PARTS = 16;

/** Keeps responses alive that wait, with one timer for all of them: each is sent its text again and again. */
export class Beats {
  private readonly parts = Array.from({ length: PARTS }, () => new Map<ServerResponse, string>());
  private timer: NodeJS.Timeout | undefined;
  private next = 0;
  private size = 0;

  /** `everyMs`: the most milliseconds between two texts of a response. */
  constructor(private readonly everyMs: number) {}

  /** Sends the text at once, and then until `end`. */
  begin(res: ServerResponse, text: string): void {
    res.write(text);
    this.parts.at(this.next - 1)?.set(res, text);
    this.size += 1;
    this.timer ??= setInterval(() => this.beat(), this.everyMs / PARTS);
  }

  /** Ending again does nothing. */
  end(res: ServerResponse): void {
    if (!this.parts.some((part) => part.delete(res))) return;
    this.size -= 1;
    if (this.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private beat(): void {
    for (const [res, text] of this.parts[this.next] ?? []) if (!res.destroyed) res.write(text);
    this.next = (this.next + 1) % PARTS;
  }
}
