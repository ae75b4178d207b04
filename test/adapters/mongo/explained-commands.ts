import { expect } from 'chai';
import type { CommandStartedEvent, Db, Document } from 'mongodb';

const LOOKING = ['find', 'aggregate', 'update', 'delete', 'findAndModify', 'count', 'distinct'];

/**
 * Every kind of query a client sends, as it sends them: one that is new in the adapter is here as soon as any test makes it.
 * Two that differ in their values only are of one kind.
 */
export class ExplainedCommands {
  private readonly byShape = new Map<string, Document>();

  constructor(private readonly db: Db) {
    db.client.on('commandStarted', ({ commandName, command, databaseName }: CommandStartedEvent) => {
      if (!LOOKING.includes(commandName) || databaseName !== db.databaseName) return;
      for (const query of queriesOf(command)) this.byShape.set(shapeOf(query), query);
    });
  }

  /** Asks the server how it goes about each; none may read a collection from end to end. */
  async expectNoScan(): Promise<void> {
    const queries = [...this.byShape.values()];
    for (const query of queries) {
      const plan = await this.db.command({ explain: query, verbosity: 'queryPlanner' });
      expect(JSON.stringify(plan['queryPlanner'] ?? plan), JSON.stringify(query)).to.include('IXSCAN').and.not.include('COLLSCAN');
    }
  }

  get shapes(): readonly string[] {
    return [...this.byShape.keys()];
  }
}

/** What a command looks for. An update or a delete looks for its documents as a find does. */
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

/** The command without its values; those of a few names are what tells two queries apart. */
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
