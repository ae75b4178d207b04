import { expect } from 'chai';
import type { Generation } from '../../core/generation/generation.js';

/** Written down a second time, so that a fault of core's own table does not hide. */
const NEXT: Readonly<Record<Generation['status'], readonly Generation['status'][]>> = {
  queued: ['queued', 'running', 'succeeded', 'failed', 'cancelled'],
  running: ['running', 'succeeded', 'failed', 'cancelled'],
  succeeded: ['succeeded'],
  failed: ['failed'],
  cancelled: ['cancelled'],
};

const ENDED: readonly string[] = ['succeeded', 'failed', 'cancelled'];

/** Every generation as it was last seen, held against what may become of it. */
export class Trail {
  private readonly seen = new Map<string, Generation>();

  note(g: Generation): void {
    expectShape(g);
    const before = this.seen.get(g.generationId);
    if (before) expectSequel(before, g);
    this.seen.set(g.generationId, g);
  }
}

function expectShape(g: Generation): void {
  const isOver = ENDED.includes(g.status);
  expect(g.completedAt !== undefined, 'completed exactly when ended').to.equal(isOver);
  expect(g.error !== undefined, 'an error exactly when failed').to.equal(g.status === 'failed');
  if (g.status !== 'cancelled')
    expect(g.outputs.length > 0, 'outputs exactly when succeeded').to.equal(g.status === 'succeeded');
  expect(g.createdAt).to.be.at.most(g.updatedAt);
  expect(g.estimatedCredits).to.equal(g.reservedCredits);
  expect(g.chargedCredits).to.be.within(0, g.reservedCredits);
}

function expectSequel(before: Generation, g: Generation): void {
  expect(NEXT[before.status], `${before.status} to ${g.status}`).to.include(g.status);
  expect([g.estimatedCredits, g.reservedCredits, g.createdAt]).to.deep.equal([
    before.estimatedCredits,
    before.reservedCredits,
    before.createdAt,
  ]);
  expect(g.chargedCredits).to.be.at.least(before.chargedCredits);
  expect(g.updatedAt).to.be.at.least(before.updatedAt);
  expect(g.version).to.be.at.least(before.version);
  expect(g.fence).to.be.at.least(before.fence);
  if (g.version === before.version) expect(g, 'nothing changes without a version').to.deep.equal(before);
  if (ENDED.includes(before.status))
    expect(visible(g), 'nothing a client sees changes after the end').to.deep.equal(visible(before));
}

const visible = ({ status, chargedCredits, outputs, error, completedAt, updatedAt }: Generation) => ({
  status,
  chargedCredits,
  outputs,
  error,
  completedAt,
  updatedAt,
});
