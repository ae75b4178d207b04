import type { Waits } from '../../../core/cancellation.js';
import { appEvents, type Beat, type GenerationEvent } from '../../../core/generation/events.js';
import type { Credential } from '../harness/network.js';
import type { RunContext } from '../harness/run-context.js';
import type { Chance } from '../harness/scheduler.js';
import type { Service } from '../harness/service.js';
import type { SimulatedProcess } from '../harness/simulated-process.js';

/** The REST front's interval. */
const BEAT_MS = 15_000;
const LOOK_EVERY_MS = 1_000;
const LONGEST_STREAM_MS = 120_000;
const LATENCY_MS = 50;

/**
 * A client that follows all generations of its App, through changing processes: connections break, processes die, and
 * it resumes after the last id that it received.
 */
export class Follower {
  private hasLeft = false;
  private streams = 0;
  private lastId: string | undefined;

  constructor(
    readonly name: string,
    private readonly owner: Pick<Credential, 'accountId' | 'appId'>,
    private readonly context: RunContext,
    private readonly service: Service,
    private readonly chance: Chance,
  ) {}

  /** Follows until it leaves. */
  async follow(): Promise<void> {
    const { scheduler } = this.context;
    while (!this.hasLeft) {
      const process = this.service.door();
      if (process !== undefined) await this.listen(process);
      await scheduler.pause(this.chance.pick([0, 1_000, 10_000]));
    }
  }

  leave(): void {
    this.hasLeft = true;
    this.context.observer.left(this.name);
  }

  private async listen(process: SimulatedProcess): Promise<void> {
    const { scheduler, timeline, tally } = this.context;
    this.streams += 1;
    tally.add('stream of an App');
    const line = new Line();
    const after = this.lastId;
    timeline.note(scheduler.now, this.name, () => `follows ${process.name} after ${after ?? 'nothing'}`);
    const events = appEvents(
      process.context,
      { ...this.owner, credentialId: this.name },
      { after, beatMs: BEAT_MS, until: line },
    );
    void this.read(events, line);
    const endAt = scheduler.now + (this.isCutOften() ? this.chance.skewed(LONGEST_STREAM_MS) : LONGEST_STREAM_MS);
    while (!line.isOver && !this.hasLeft && process.takesRequests && scheduler.now < endAt)
      await scheduler.pause(LOOK_EVERY_MS);
    line.break();
  }

  private isCutOften(): boolean {
    return this.context.profile.clientPerMille > 0;
  }

  /** Events in transit when the connection breaks are lost. A stream that fails ends. */
  private async read(events: AsyncGenerator<GenerationEvent | Beat>, line: Line): Promise<void> {
    const { scheduler, observer, timeline } = this.context;
    const stream = this.streams;
    try {
      for await (const event of events) {
        await scheduler.pause(this.chance.skewed(LATENCY_MS));
        if (line.isOver || this.hasLeft) return;
        this.lastId = event.id ?? this.lastId;
        timeline.note(scheduler.now, this.name, () => `hears ${event.type} ${event.id ?? ''}`);
        try {
          observer.heard({ at: scheduler.now, follower: this.name, appId: this.owner.appId, stream, event });
        } catch (error) {
          scheduler.fail(error);
        }
      }
    } catch (error) {
      timeline.note(scheduler.now, this.name, () => `is cut off: ${String(error)}`);
    } finally {
      line.break();
    }
  }
}

/** A connection, which can only end. */
class Line implements Waits {
  isOver = false;
  private readonly listeners = new Set<() => void>();

  onOver(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  break(): void {
    this.isOver = true;
    for (const listener of this.listeners) listener();
  }
}
