import { expect } from 'chai';
import fc from 'fast-check';
import type { Generation } from '../../../core/generation/generation.js';
import { aGeneration } from '../../fixtures/stored-records.js';
import { LONGEST_DELAY_MS } from '../vendors/vendor-models.js';
import { CLUSTER_FAULTS, FAILOVERS, withClusterFaults } from './cluster-faults.js';
import { RECEIVER_LINK_FAULTS, RECEIVER_TROUBLES, STREAM_FAULTS, withReceiverFaults } from './receiver-faults.js';
import { drawRounds, type Fault, faultKinds, PROCESSES, withReplacements } from './schedule.js';
import { describeStruck, OwnerlessWatch, type Struck, whatHitNothing } from './struck.js';
import {
  VENDOR_CALL_TROUBLES,
  VENDOR_LINK_FAULTS,
  VENDOR_LOSSES,
  VENDOR_SILENCE,
  withVendorFaults,
} from './vendor-faults.js';

/**
 * Goal: a run of ordinary length tries every kind of fault, and a seed always draws the same rounds. Method: draw
 * rounds from many seeds and count.
 */

describe('rounds of faults', () => {
  it('have every kind in twenty rounds, one to three at a time', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const rounds = drawRounds(seed, 20);
        expect(new Set(rounds.flatMap(({ faults }) => faults.map(({ kind }) => kind)))).to.have.lengthOf(
          faultKinds('mongo').length,
        );
        for (const { faults } of rounds) expect(faults.length).to.be.within(1, 3);
      }),
    );
  });

  it('are the same for the same seed', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        expect(drawRounds(seed, 10)).to.deep.equal(drawRounds(seed, 10));
      }),
    );
  });

  it('are done to processes that are there, and end', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        for (const { action, afterMs, forMs } of drawRounds(seed, 20).flatMap(({ faults }) => faults)) {
          expect(action.to === 'store' ? ['database', 's3'] : PROCESSES).to.include.members([...action.targets]);
          expect(action.targets).not.to.deep.equal([]);
          expect(afterMs).to.be.within(0, 2_000);
          expect(forMs).to.be.within(0, 7_000);
        }
      }),
    );
  });

  it('have every kind of fault at vendors in five, and delay nothing for longer than said', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const own = drawRounds(seed, 5);
        const rounds = withVendorFaults(own, seed);
        expect(rounds).to.deep.equal(withVendorFaults(own, seed));
        const faults = rounds.map((round, index) => round.faults.slice(own[index]?.faults.length));
        expect(new Set(faults.flat().map(({ kind }) => kind))).to.have.all.keys([
          ...Object.keys(VENDOR_LINK_FAULTS),
          ...Object.keys(VENDOR_CALL_TROUBLES),
          ...VENDOR_LOSSES,
          VENDOR_SILENCE,
          'a worker killed',
        ]);
        for (const [index, added] of faults.entries()) {
          const [link = '', vendor = '', ...others] = added.map(({ kind }) => kind);
          expect([link in VENDOR_LINK_FAULTS, vendor in VENDOR_CALL_TROUBLES]).to.deep.equal([true, true]);
          expect(others).to.deep.equal([...VENDOR_LOSSES, index % 2 === 0 ? VENDOR_SILENCE : 'a worker killed']);
        }
        for (const { action } of faults.flat())
          if (action.to === 'vendor-links' && action.toxic.type === 'latency')
            expect(action.toxic.attributes.latency + action.toxic.attributes.jitter).to.be.at.most(LONGEST_DELAY_MS);
      }),
    );
  });

  it('have every kind of fault of receivers and of streams in seven, beside their own', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const own = drawRounds(seed, 7);
        const rounds = withReceiverFaults(own, seed);
        expect(rounds).to.deep.equal(withReceiverFaults(own, seed));
        const faults = rounds.map((round, index) => round.faults.slice(own[index]?.faults.length));
        expect(faults.every((added) => added.length === 3)).to.equal(true);
        const kinds = new Set(faults.flat().map(({ kind }) => kind));
        const tables = { ...RECEIVER_LINK_FAULTS, ...RECEIVER_TROUBLES, ...STREAM_FAULTS };
        expect(kinds).to.have.all.keys(Object.keys(tables));
      }),
    );
  });

  it('have one fault of PostgreSQL servers each, every kind in 24 rounds, and a failover in every second round', () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const own = drawRounds(seed, 24, 'postgres');
        const rounds = withClusterFaults(own, seed);
        expect(rounds).to.deep.equal(withClusterFaults(own, seed));
        const faults = rounds.map((round, index) => round.faults.slice(own[index]?.faults.length));
        expect(faults.map((added) => added.map(({ action }) => action.to))).to.deep.equal(
          faults.map(() => ['cluster', 'processes']),
        );
        expect(new Set(faults.map(([fault]) => fault?.kind))).to.have.all.keys(Object.keys(CLUSTER_FAULTS));
        expect(faults.filter(([fault]) => FAILOVERS.includes(fault?.kind ?? ''))).to.have.lengthOf(12);
        expect(own.flatMap((round) => round.faults).filter(({ action }) => action.to === 'store')).to.satisfy(
          (struck: readonly Fault[]) => struck.every(({ action }) => action.targets[0] === 's3'),
        );
      }),
    );
  });

  it('replace a REST process and a worker in each round of an upgrade, beside its own faults', () => {
    const rounds = drawRounds(1, 20);
    for (const [index, { faults }] of withReplacements(rounds).entries()) {
      const [rest, worker, ...others] = faults;
      expect([rest, worker].map((fault) => fault?.action)).to.deep.equal([
        { to: 'processes', does: 'SIGTERM', targets: ['rest-2'] },
        { to: 'processes', does: 'SIGTERM', targets: ['worker-3'] },
      ]);
      expect(others).to.deep.equal(rounds[index]?.faults);
    }
  });
});

// Goal: only generations that overtook a generation without a worker are counted.
// Method: a constructed history of six generations, checked at several times.

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

/**
 * Goal: a run whose faults hit nothing is distinguished from one whose faults did. Method: faults of all kinds that hit
 * one thing each, and the same with some that hit nothing, or were not there.
 */

describe('faults that were played', () => {
  const all = (hits: (struck: Omit<Struck, 'hits'>) => number): Struck[] =>
    withReceiverFaults(withVendorFaults(drawRounds(1, 20), 1), 1).flatMap(({ faults }) =>
      faults.map(({ kind, action }) => {
        const struck = { kind, action: action.to };
        return { ...struck, hits: hits(struck) };
      }),
    );

  it('have all hit something', () => {
    expect(whatHitNothing(all(() => 1))).to.deep.equal([]);
  });

  it('are named when they hit nothing', () => {
    expect(whatHitNothing(all(({ kind }) => (kind === 'MongoDB frozen' ? 0 : 1)))).to.deep.equal(['MongoDB frozen']);
    expect(whatHitNothing(all(({ action }) => (action === 'links' ? 0 : 1)))).to.deep.equal(['any trouble of a link']);
    expect(whatHitNothing(all(({ action }) => (action === 's3' ? 0 : 1)))).to.deep.equal(['any trouble of S3']);
    expect(whatHitNothing(all(({ action }) => (action === 'vendor-links' ? 0 : 1)))).to.deep.equal([
      "any trouble of a vendor's link",
    ]);
    expect(whatHitNothing(all(({ action }) => (action === 'receiver-links' ? 0 : 1)))).to.deep.equal([
      "any trouble of a receiver's link",
    ]);
    expect(whatHitNothing(all(({ action }) => (action === 'streams' ? 0 : 1)))).to.deep.equal([
      'any trouble of a stream',
    ]);
    expect(whatHitNothing(all(({ action }) => (action === 'receivers' ? 0 : 1)))).to.deep.equal(
      Object.keys(RECEIVER_TROUBLES),
    );
    expect(whatHitNothing(all(({ action }) => (action === 'vendors' ? 0 : 1)))).to.deep.equal([
      ...Object.keys(VENDOR_CALL_TROUBLES),
      ...VENDOR_LOSSES,
      VENDOR_SILENCE,
    ]);
  });

  it('of one kind of call at vendors, or at receivers, are named when they hit nothing, whatever the others did', () => {
    for (const kind of [
      ...Object.keys(VENDOR_CALL_TROUBLES),
      ...VENDOR_LOSSES,
      VENDOR_SILENCE,
      ...Object.keys(RECEIVER_TROUBLES),
    ])
      expect(whatHitNothing(all((one) => (one.kind === kind ? 0 : 1)))).to.deep.equal([kind]);
  });

  it('of PostgreSQL servers are named if they hit nothing, and vendor faults are not expected with them', () => {
    const played = (misses: string): Struck[] =>
      withClusterFaults(drawRounds(1, 24, 'postgres'), 1).flatMap(({ faults }) =>
        faults.map(({ kind, action }) => ({ kind, action: action.to, hits: kind === misses ? 0 : 1 })),
      );
    expect(whatHitNothing(played(''), 'postgres')).to.deep.equal([]);
    for (const kind of Object.keys(CLUSTER_FAULTS))
      expect(whatHitNothing(played(kind), 'postgres')).to.deep.equal([kind]);
  });

  it('may miss one link, or one store', () => {
    expect(
      whatHitNothing(all(({ kind }) => (kind === 'a link cut' || kind === 'S3 takes half' ? 0 : 1))),
    ).to.deep.equal([]);
  });

  it('are named when they were never played', () => {
    expect(whatHitNothing(all(() => 1).filter(({ kind }) => kind !== 'a worker frozen'))).to.deep.equal([
      'a worker frozen',
    ]);
  });

  it('are named by what they hit', () => {
    expect(
      describeStruck([
        { kind: 'a link cut', action: 'links', hits: 3 },
        { kind: 'a link cut', action: 'links', hits: 4 },
      ]),
    ).to.equal('2 a link cut (7 pieces sent)');
  });
});
