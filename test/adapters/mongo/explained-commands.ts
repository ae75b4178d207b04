import { expect } from 'chai';
import type { CommandStartedEvent, Db, Document } from 'mongodb';
import { BY_ID, schemaCollections } from '../../../adapters/mongo/schema.js';

interface Target {
  readonly collection: string;
  readonly fields: readonly string[];
}

const INDEXES = new Map<string, object>([
  [BY_ID, { _id: 1 }],
  ...schemaCollections().flatMap(([, { indexes }]) => indexes.map(({ name, keys }) => [name, keys] as const)),
]);

/** Indexes that find so few documents that the server may sort them: the artefacts of one code, and those of one person. */
const FEW = ['artefacts_by_alias', 'artefacts_by_owner'];
const LOOKING = ['find', 'aggregate', 'update', 'delete', 'findAndModify', 'count', 'distinct'];

/**
 * Every kind of query that a client sends, recorded as it is sent: a new query in the adapter is recorded as soon as any
 * test makes it. Queries that differ only in their values are of one kind.
 */
export class ExplainedCommands {
  private readonly byShape = new Map<string, Document>();
  /** For each kind of write, the collection and the names of the fields that select or insert the document. */
  private readonly written = new Map<string, Target>();
  /** The same for each kind of read from ledgers. */
  private readonly ledgersRead = new Map<string, Target>();

  constructor(private readonly db: Db) {
    db.client.on('commandStarted', ({ commandName, command, databaseName }: CommandStartedEvent) => {
      if (commandName === 'bulkWrite') return this.noteBulk(command);
      if (databaseName !== db.databaseName) return;
      this.noteWrites(command);
      this.noteReads(command);
      if (LOOKING.includes(commandName))
        for (const query of queriesOf(command)) this.byShape.set(shapeOf(query), query);
    });
  }

  /** Asks the server to explain each query; none may scan a whole collection. */
  async expectNoScan(): Promise<void> {
    const queries = [...this.byShape.values()];
    expect(queries).not.to.have.length(0);
    for (const query of queries)
      expect(await this.planOf(query), JSON.stringify(query))
        .to.include('IXSCAN')
        .and.not.include('COLLSCAN');
    expect(
      await this.planOf({ find: 'accounts', filter: { name: 'by no index' } }),
      'what a scan looks like',
    ).to.include('COLLSCAN');
  }

  /** Each list is in the order of its index, which a server then reads no further than the limit. */
  expectOrderOfIndex(): void {
    for (const query of this.byShape.values()) {
      const { find, sort, hint, filter } = query;
      if (find === undefined || sort === undefined || FEW.includes(hint as string)) continue;
      const bound = (name: string) => !isPlain((filter as Document)[name] ?? {});
      const open = (keys: Iterable<readonly [string, unknown]>) => [...keys].filter(([name]) => !bound(name));
      const wanted = open(sort instanceof Map ? (sort as Map<string, unknown>) : Object.entries(sort as Document));
      const keys = open(Object.entries(INDEXES.get(hint as string) ?? {})).slice(0, wanted.length);
      const backwards = keys.map(([name, direction]) => [name, -Number(direction)]);
      expect([JSON.stringify(keys), JSON.stringify(backwards)], JSON.stringify(query)).to.include(
        JSON.stringify(wanted),
      );
    }
  }

  private async planOf(query: Document): Promise<string> {
    const plan = await this.db.command({ explain: query, verbosity: 'queryPlanner' });
    return JSON.stringify(plan['queryPlanner'] ?? plan);
  }

  /**
   * Every write, and every read from a ledger, names the key that its collection may be sharded by, so that a cluster
   * queries a single shard.
   */
  expectShardKeys(): void {
    const keys = new Map(
      schemaCollections().map(([name, { shardKey }]) => [name as string, Object.keys(shardKey ?? {})]),
    );
    for (const { collection, fields } of [...this.written.values(), ...this.ledgersRead.values()]) {
      expect(fields, collection).to.include.members(keys.get(collection) ?? []);
    }
  }

  /** A command that writes to several collections: each of its writes as the command that makes it alone. */
  private noteBulk({ ops, nsInfo }: Document): void {
    for (const { insert, update, filter, hint, document } of ops as Document[]) {
      const { ns } = (nsInfo as readonly { readonly ns: string }[])[Number(insert ?? update)] as {
        readonly ns: string;
      };
      const [database, collection] = ns.split('.') as [string, string];
      if (database !== this.db.databaseName) continue;
      if (document !== undefined) this.noteWrites({ insert: collection, documents: [document] });
      else {
        const single = { update: collection, updates: [{ q: filter, hint }] };
        this.noteWrites(single);
        for (const query of queriesOf(single)) this.byShape.set(shapeOf(query), query);
      }
    }
  }

  /** A ledger is read for one account, whose shard is known. Other reads may query every shard. */
  private noteReads({ find, filter }: Document): void {
    const fields = Object.keys((filter ?? {}) as Document);
    if (find === 'entries') this.ledgersRead.set(fields.join(), { collection: find, fields });
  }

  private noteWrites({ insert, update, delete: deletion, documents, updates, deletes }: Document): void {
    const targets = [
      ...((documents ?? []) as Document[]),
      ...[...((updates ?? []) as Document[]), ...((deletes ?? []) as Document[])].map(
        (change) => change['q'] as Document,
      ),
    ];
    const collection = (insert ?? update ?? deletion) as string;
    for (const target of targets)
      this.written.set(`${collection} ${Object.keys(target).join()}`, { collection, fields: Object.keys(target) });
  }
}

/** The queries in a command. An update or a delete looks for its documents as a find does. */
function queriesOf(command: Document): Document[] {
  const { find, aggregate, update, delete: deletion, filter, pipeline, sort, limit, hint, projection } = command;
  if (find !== undefined) return [defined({ find, filter, sort, limit, hint, projection })];
  if (aggregate !== undefined) return [defined({ aggregate, pipeline, hint, cursor: {} })];
  const changes = (command['updates'] ?? command['deletes']) as Document[] | undefined;
  if (changes === undefined) throw new Error(`This test does not know how to explain ${Object.keys(command)[0]}.`);
  return changes.map((change) => defined({ find: update ?? deletion, filter: change['q'], hint: change['hint'] }));
}

function defined(command: Document): Document {
  return Object.fromEntries(Object.entries(command).filter(([, value]) => value !== undefined));
}

/** The command without its values, except those of a few names that distinguish two queries. */
function shapeOf(query: Document): string {
  return JSON.stringify(query, (name, value: unknown) => {
    if (['find', 'aggregate', 'hint', 'sort'].includes(name)) return value;
    if (Array.isArray(value)) return value.length > 0 && isPlain(value[0]) ? value : '[]';
    return isPlain(value) ? value : '?';
  });
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !('_bsontype' in value);
}
