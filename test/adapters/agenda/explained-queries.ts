import { expect } from 'chai';
import type { CommandStartedEvent, Db, Document, MongoClient } from 'mongodb';

/** One of each kind of question that was asked of the wake-ups, to be explained by the server. */
export class ExplainedQueries {
  private readonly byShape = new Map<string, Document>();
  private readonly concerns = new Set<string>();

  watch(client: MongoClient): void {
    client.on('commandStarted', ({ commandName, command }: CommandStartedEvent) => {
      if (command[commandName] !== 'agenda_wake_ups') return;
      if (['update', 'delete', 'findAndModify', 'find'].includes(commandName)) this.note(commandName, command);
    });
  }

  /**
   * Each is answered by an index. Whether it gives the order too is not asked: SecantusDB shows a sort above any index.
   */
  async expectIndexes(db: Db): Promise<void> {
    expect([...this.byShape.keys()].map((shape) => shape.split(' ')[0])).to.include.members([
      'find',
      'update',
      'delete',
    ]);
    for (const query of this.byShape.values()) {
      const plan = JSON.stringify(await db.command({ explain: query, verbosity: 'queryPlanner' }));
      expect(plan, JSON.stringify(query)).to.include('IXSCAN').and.not.include('COLLSCAN');
    }
  }

  /** How every write was asked to be acknowledged. */
  get writeConcerns(): readonly string[] {
    return [...this.concerns];
  }

  private note(name: string, command: Document): void {
    if (name !== 'find') this.concerns.add(JSON.stringify(command['writeConcern']));
    const { find, filter, sort, limit, findAndModify, query } = command;
    const looks: Document[] = command['updates'] ?? command['deletes'] ?? [{ q: filter ?? query }];
    for (const { q, hint } of looks) {
      if (Object.keys(q as Document).length === 0) continue;
      const asked = {
        find: find ?? findAndModify ?? command[name],
        filter: q,
        ...(sort && { sort }),
        ...(limit && { limit }),
        ...(hint && { hint }),
      };
      this.byShape.set(`${name} ${Object.keys(q as Document).join()} ${JSON.stringify(hint)}`, asked);
    }
  }
}
