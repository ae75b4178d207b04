// Goal: a listener receives every record that any process writes, in order for each generation, while the store reports
// that its change feed is open.
// Method: two processes' stores on one place; what one writes is followed by the other.
import { expect } from 'chai';
import type { GenerationRecord } from '../../core/generation/generation.js';
import type { GenerationChanges, GenerationChangesListener, GenerationStore } from '../../core/ports/stores.js';
import { until } from '../fixtures/clocks.js';
import { aGeneration, aTombstone, uuidAt } from '../fixtures/stored-records.js';
import type { ContractSubject } from './subject.js';

/** The change feed of one process, and the store as seen by that process and by another one. */
export interface ChangesPlace {
  readonly changes: GenerationChanges;
  readonly own: GenerationStore;
  readonly other: GenerationStore;
}

/** Records the notifications that it receives. */
export class ToldListener implements GenerationChangesListener {
  readonly records: GenerationRecord[] = [];
  readonly facts: string[] = [];
  openings = 0;
  interruptions = 0;

  opened(): void {
    this.openings += 1;
  }

  interrupted(): void {
    this.interruptions += 1;
  }

  written(change: Parameters<GenerationChangesListener['written']>[0]): void {
    this.records.push(change.record());
    this.facts.push(`${change.generationId} ${change.appId} ${change.version}`);
  }
}

export function generationChangesContract(subject: ContractSubject<ChangesPlace>): void {
  describe(`GenerationChanges contract: ${subject.name}`, () => {
    let place: ChangesPlace;
    const stops: (() => void)[] = [];
    beforeEach(async () => {
      place = await subject.open();
    });
    afterEach(async () => {
      for (const stop of stops.splice(0)) stop();
      await subject.close(place);
    });

    async function followed(): Promise<ToldListener> {
      const listener = new ToldListener();
      stops.push(place.changes.follow(listener));
      await until(() => listener.openings === 1);
      return listener;
    }

    it('reports inserts and replacements by any process, whole and in order', async () => {
      const told = await followed();
      const first = aGeneration(1, { prompt: 'a$b."c" ✗' });
      await place.other.insert(first);
      await place.own.replace({ ...first, version: 1, status: 'running' }, 0);
      await place.other.replace({ ...first, version: 2, status: 'cancelled' }, 1);
      await place.own.insert(aTombstone(2));
      await until(() => told.records.length === 4);
      expect(told.records).to.deep.equal([
        first,
        { ...first, version: 1, status: 'running' },
        { ...first, version: 2, status: 'cancelled' },
        aTombstone(2),
      ]);
      expect(told.facts).to.deep.equal([
        `${uuidAt(1)} ${uuidAt(2)} 0`,
        `${uuidAt(1)} ${uuidAt(2)} 1`,
        `${uuidAt(1)} ${uuidAt(2)} 2`,
        `${uuidAt(2)} ${uuidAt(2)} 0`,
      ]);
      expect([told.openings, told.interruptions]).to.deep.equal([1, 0]);
    });

    it('reports neither refused writes nor removals', async () => {
      const told = await followed();
      await place.other.insert(aGeneration(1));
      await place.other.insert(aGeneration(1, { version: 5 }));
      await place.other.replace(aGeneration(1, { version: 8 }), 7);
      await place.other.remove(uuidAt(1), 0);
      await place.other.insert(aGeneration(2));
      await until(() => told.records.length === 2);
      expect(told.records).to.deep.equal([aGeneration(1), aGeneration(2)]);
    });

    it('tells each follower until it has enough, and the next one again', async () => {
      const [one, two] = [await followed(), await followed()];
      await place.other.insert(aGeneration(1));
      await until(() => one.records.length === 1 && two.records.length === 1);
      stops[0]?.();
      await place.other.insert(aGeneration(2));
      await until(() => two.records.length === 2);
      expect(one.records).to.have.length(1);
      stops[1]?.();
      const three = await followed();
      await place.other.insert(aGeneration(3));
      await until(() => three.records.some(({ generationId }) => generationId === uuidAt(3)));
      expect([one.records.length, two.records.length]).to.deep.equal([1, 2]);
    });
  });
}
