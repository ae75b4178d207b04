// Goal: the checker knows what may be taken over from a process that is gone, and which boot belongs to which process.
// Method: a checker over stores with one process at a time is shown take-overs, and leases with a wrong boot or none.
import { expect } from 'chai';
import type { Generation } from '../../../core/generation/generation.js';
import { CheckedService } from './checked-service.js';

describe('the checker of boots', () => {
  it('14: finds a submission taken over that may be on its way, and nothing else of a process that is gone', async () => {
    for (const phase of ['submitted', 'submitting'] as const) {
      const alone = await CheckedService.open(1_000, { isExclusive: true });
      alone.harness.provider.newReport = () => ({ state: 'running' });
      if (phase === 'submitting') alone.harness.provider.submitScript = ['hang'];
      const id = await alone.created('one');
      await alone.harness.clock.run(alone.dispatcher.deliver(id));
      await alone.harness.clock.advance(10);
      const g = await alone.harness.generation(id);
      expect(g.attempt?.phase).to.equal(phase);
      const lease = {
        worker: 'worker-2',
        fence: 2,
        renewedAt: alone.now,
        expiresAt: alone.now + alone.harness.settings.leaseMs,
        bootId: 'boot-2',
      };
      const taken: Generation = { ...g, version: g.version + 1, lease, fence: 2, updatedAt: alone.now };
      await alone.harness.ports.generations.replace(taken, g.version);
      await alone.show('generations.replace', [taken, g.version], 'applied');
      if (phase === 'submitted') alone.expectNothing();
      else alone.expectFirst(14, 'had the lease until');
    }
  });

  it('14: finds a lease that carries two boots of one process, or none', async () => {
    for (const [bootId, saying] of [
      ['another', 'goes with'],
      [undefined, 'does not say of which boot'],
    ] as const) {
      const service = await CheckedService.open();
      service.harness.provider.newReport = () => ({ state: 'running' });
      const ids = [await service.created('one'), await service.created('two')];
      await service.harness.clock.run(service.dispatcher.deliver(ids[0] ?? ''));
      service.tamper = ({ name, args }) => {
        const g = args[0] as Generation;
        if (name !== 'generations.replace' || g.generationId !== ids[1] || !g.lease) return args;
        const { bootId: _own, ...lease } = g.lease;
        return [{ ...g, lease: bootId === undefined ? lease : { ...lease, bootId } }, ...args.slice(1)];
      };
      await service.harness.clock.run(service.dispatcher.deliver(ids[1] ?? ''));
      service.expectFirst(14, saying);
    }
  });
});
