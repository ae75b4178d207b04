import type { Ports } from '../ports/ports.js';
import type { Generation, GenerationRecord } from './generation.js';

/** How long an App's listed queue is valid, in milliseconds: generations may have started or been created since. */
const KEPT_MS = 2_000;
/** Longer queues are not counted. */
const MAX_LISTED = 1_000;
const MAX_APPS = 1_000;

/** The parts of a generation that are kept; its prompt alone may have thousands of characters. */
type Queued = Pick<Generation, 'modelKey' | 'createdAt'>;

interface Line {
  readonly readAt: number;
  /** Queued generations by id; undefined if there are more than are counted. */
  readonly queued: Promise<ReadonlyMap<string, Queued> | undefined>;
  /**
   * Records that this process has written since the queue was read; undefined for a generation that is no longer
   * queued.
   */
  readonly written: Map<string, Queued | undefined>;
}

/**
 * Counts the generations of an App and model that were created before one and are still queued. Workers start those of
 * one account in order of arrival, and take accounts in turn, so this is the queue that a client can know, whatever
 * others have queued. An App's queue is listed once in two seconds, and only on request. Older lists are dropped when
 * any App's is requested or written to.
 */
export class QueuePositions {
  /** In the order in which they were read. */
  private readonly lines = new Map<string, Line>();

  constructor(private readonly ports: Pick<Ports, 'generations' | 'clock'>) {}

  /** Undefined for a generation that is not queued, if the queue is too long, and if the store is unavailable. */
  async before(generation: Generation): Promise<number | undefined> {
    const { appId, generationId, modelKey, createdAt, status } = generation;
    if (status !== 'queued') return undefined;
    const { queued, written } = this.lineOf(appId);
    const listed = await queued.catch(() => undefined);
    if (listed === undefined) return undefined;
    const isBefore = (id: string, other: Queued): boolean =>
      other.modelKey === modelKey &&
      (other.createdAt < createdAt || (other.createdAt === createdAt && id < generationId));
    let before = 0;
    for (const [id, other] of listed) if (!written.has(id) && isBefore(id, other)) before += 1;
    for (const [id, other] of written) if (other && isBefore(id, other)) before += 1;
    return before;
  }

  /** This process has written the record. */
  written(record: GenerationRecord): void {
    this.dropOld();
    const line = this.lines.get(record.appId);
    if (line === undefined) return;
    if (this.isOld(line) || line.written.size >= MAX_LISTED) this.lines.delete(record.appId);
    else line.written.set(record.generationId, isQueued(record) ? kept(record) : undefined);
  }

  /** The number of Apps whose queues are kept, and of generations written since. */
  get counts(): { readonly apps: number; readonly written: number } {
    const written = [...this.lines.values()].reduce((sum, line) => sum + line.written.size, 0);
    return { apps: this.lines.size, written };
  }

  private lineOf(appId: string): Line {
    this.dropOld();
    const known = this.lines.get(appId);
    if (known !== undefined && !this.isOld(known)) return known;
    this.lines.delete(appId);
    const [oldest] = this.lines.keys();
    if (this.lines.size >= MAX_APPS && oldest !== undefined) this.lines.delete(oldest);
    const line = { readAt: this.ports.clock.now(), queued: this.listed(appId), written: new Map() };
    this.lines.set(appId, line);
    return line;
  }

  private dropOld(): void {
    for (const [appId, line] of this.lines) {
      if (!this.isOld(line)) return;
      this.lines.delete(appId);
    }
  }

  private isOld({ readAt }: Line): boolean {
    const age = this.ports.clock.now() - readAt;
    return age < 0 || age >= KEPT_MS;
  }

  private async listed(appId: string): Promise<ReadonlyMap<string, Queued> | undefined> {
    const only = { field: 'status', value: 'queued' } as const;
    const { items, nextCursor } = await this.ports.generations.list({ of: 'app', appId, only }, { limit: MAX_LISTED });
    return nextCursor === undefined ? new Map(items.map((one) => [one.generationId, kept(one)])) : undefined;
  }
}

function isQueued(record: GenerationRecord): record is Generation {
  return record.kind === 'generation' && record.status === 'queued';
}

function kept({ modelKey, createdAt }: Generation): Queued {
  return { modelKey, createdAt };
}
