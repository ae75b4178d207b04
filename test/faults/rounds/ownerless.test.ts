// Goal: only generations that overtook a generation without a worker are counted.
// Method: a constructed history of six generations, checked at several times.
import { expect } from 'chai';
import type { Generation } from '../../../core/generation/generation.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { OwnerlessWatch } from './ownerless.js';

function queued(n: number): Generation {
  const { lease: _lease, ...g } = aGeneration(n, { status: 'queued', createdAt: n, fence: 0, modelKey: 'm' });
  return g;
}

function leased(n: number, until: number): Generation {
  return {
    ...queued(n),
    status: 'running',
    fence: 1,
    lease: { worker: 'w', fence: 1, renewedAt: 0, expiresAt: until },
  };
}

describe('the watch over generations without a worker', () => {
  it('counts younger ones of the model that start while one waits, past the allowance', () => {
    const watch = new OwnerlessWatch(10);
    watch.see(0, [leased(5, 100), queued(4), queued(6), queued(7), queued(8), { ...queued(9), modelKey: 'other' }]);
    watch.see(100, [leased(5, 100), queued(4), queued(6), queued(7), queued(8), { ...queued(9), modelKey: 'other' }]);
    watch.see(110, [
      leased(5, 100),
      queued(4),
      leased(6, 900),
      queued(7),
      queued(8),
      { ...queued(9), modelKey: 'other' },
    ]);
    watch.see(120, [
      leased(5, 100),
      leased(4, 900),
      leased(6, 900),
      leased(7, 900),
      queued(8),
      { ...leased(9, 900), modelKey: 'other' },
    ]);
    watch.see(130, [
      leased(5, 900),
      leased(4, 900),
      leased(6, 900),
      leased(7, 900),
      leased(8, 900),
      { ...leased(9, 900), modelKey: 'other' },
    ]);
    expect(watch.stretches.map(({ from, until, overtakenBy }) => [from, until, overtakenBy])).to.deep.equal([
      [100, 120, 1],
    ]);
  });
});
