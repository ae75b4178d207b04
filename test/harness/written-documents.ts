import type { CommandFailedEvent, CommandStartedEvent, CommandSucceededEvent, Document, MongoClient } from 'mongodb';

/** The operation of a command on documents. */
export type WriteKind = 'insert' | 'update' | 'delete';

const WRITES: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'findAndModify', 'bulkWrite']);
const KINDS = ['insert', 'update', 'delete'] as const satisfies readonly WriteKind[];

/**
 * Counts the documents that clients write, by collection and kind, from the driver's own events. A write that finds
 * nothing to change, or is refused, writes none. A client must monitor its commands: `monitorCommands=true`.
 */
export class WrittenDocuments {
  private readonly documents = new Map<string, number>();
  private readonly commands = new Map<string, number>();
  private readonly underWay = new Map<string, Document>();

  /** Resets the counts. */
  reset(): void {
    this.documents.clear();
    this.commands.clear();
  }

  /** Counts what this client writes from now on. */
  watch(client: MongoClient, name: string): void {
    const keyOf = (event: { readonly requestId: number }) => `${name} ${event.requestId}`;
    client.on('commandStarted', (event: CommandStartedEvent) => {
      if (WRITES.has(event.commandName)) this.underWay.set(keyOf(event), event.command);
    });
    client.on('commandSucceeded', (event: CommandSucceededEvent) => {
      const begun = this.underWay.get(keyOf(event));
      if (begun === undefined) return;
      this.underWay.delete(keyOf(event));
      this.count(event.commandName, begun, event.reply as Document);
    });
    client.on('commandFailed', (event: CommandFailedEvent) => this.underWay.delete(keyOf(event)));
  }

  get total(): number {
    return sum(this.documents.values());
  }

  /** The count for some collections, or for one kind in one. */
  of(...names: readonly string[]): number {
    return sum(
      [...this.documents].filter(([key]) => names.some((name) => `${key} `.startsWith(`${name} `))).map(([, n]) => n),
    );
  }

  /** One line per collection and kind: documents and commands per generation. */
  table(generations: number): string {
    const each = (count: number) => (count / generations).toFixed(3).padStart(9);
    const lines = [...this.documents.keys()]
      .toSorted()
      .map((key) => `${key.padEnd(32)}${each(this.documents.get(key) ?? 0)}${each(this.commands.get(key) ?? 0)}`);
    return [
      `${'collection and kind'.padEnd(32)}documents commands`,
      ...lines,
      `${'all'.padEnd(32)}${each(this.total)}${each(sum(this.commands.values()))}`,
    ].join('\n');
  }

  private count(name: string, command: Document, reply: Document): void {
    if (name === 'bulkWrite') return this.countMany(command, reply);
    if (name === 'findAndModify') {
      const { n = 0 } = (reply['lastErrorObject'] ?? {}) as { n?: number };
      return this.add(String(command[name]), command['remove'] === true ? 'delete' : 'update', n);
    }
    const changed = name === 'update' ? Number(reply['nModified']) + lengthOf(reply['upserted']) : Number(reply['n']);
    this.add(String(command[name]), name as WriteKind, changed);
  }

  /** For writes to several collections the server reports only the one it refused; later ones were not tried. */
  private countMany(command: Document, reply: Document): void {
    const spaces = (command['nsInfo'] as readonly { ns: string }[]).map(({ ns }) => ns.slice(ns.indexOf('.') + 1));
    const results = (reply['cursor'] as { firstBatch: readonly { ok: number; idx: number }[] }).firstBatch;
    const refused = results.find(({ ok }) => ok === 0)?.idx ?? Infinity;
    const counts = new Map<string, number>();
    for (const [place, write] of (command['ops'] as readonly Document[]).entries()) {
      const kind = KINDS.find((one) => one in write);
      if (kind === undefined || place >= refused) continue;
      const key = `${spaces[write[kind] as number]} ${kind}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    for (const [key, count] of counts) {
      const [collection = '', kind] = key.split(' ');
      this.add(collection, kind as WriteKind, count);
    }
  }

  private add(collection: string, kind: WriteKind, documents: number): void {
    const key = `${collection} ${kind}`;
    this.documents.set(key, (this.documents.get(key) ?? 0) + documents);
    this.commands.set(key, (this.commands.get(key) ?? 0) + 1);
  }
}

function lengthOf(upserted: unknown): number {
  return Array.isArray(upserted) ? upserted.length : 0;
}

function sum(counts: Iterable<number>): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}
