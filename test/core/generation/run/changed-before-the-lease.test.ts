// Goal: whoever takes the lease of a generation asks the provider that has its task, though another worker began an attempt
// elsewhere after the generation was read; so nothing is submitted to two providers.
// Method: two providers; right before the second worker writes its lease, another one, whose clock is 50 s behind, submits to
// the other provider.
import { expect } from 'chai';
import type { GenerationCommand } from '../../../../core/generation/decide.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { changeGeneration } from '../../../../core/generation/settle-generation.js';
import { connectedProviders } from '../../../fixtures/connected-providers.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { ScriptedProvider } from '../../../fixtures/scripted-provider.js';
import { withWallTime } from '../../../fixtures/wall-clock.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../../harness/core-worker.js';

const BEHIND_MS = 50_000;

describe('a generation whose attempt another worker begins elsewhere while its lease is taken', () => {
  for (const isAnswered of [true, false]) {
    it(`stays at that provider, ${isAnswered ? 'which has taken the task' : 'which may have the task'}`, async () => {
      const [first, second] = [new ScriptedProvider(), new ScriptedProvider()];
      const harness = await CoreHarness.open({
        models: [
          imageModel({
            route: ['first', 'second'].map((provider, index) => ({ provider, settings: {}, weight: 1 - index })),
            onUnknownAcceptance: 'fail',
          }),
        ],
        ports: { providers: connectedProviders({ first, second }) },
      });
      const { clock, settings } = harness;
      const behind = harness.process(undefined, {
        clock: withWallTime(clock, () => clock.now() - BEHIND_MS),
      });
      let g: Generation = await harness.create();
      const change = async (command: GenerationCommand, context = harness.context) => {
        const { generation, refused } = await changeGeneration(context, g, command);
        expect(refused, command.event).to.equal(undefined);
        g = generation;
      };
      const lease = { worker: 'behind', leaseMs: settings.leaseMs };
      await change({ event: 'start', token: 'refused', provider: 'first', ...lease });
      await change({ event: 'attempt-undone', retryAt: 0, fence: 1 });
      let hasSubmitted = false;
      const submitElsewhere = async () => {
        hasSubmitted = true;
        await change({ event: 'take-over', ...lease }, behind);
        await change({ event: 'begin-attempt', token: 'paid', provider: 'second', fence: 2 }, behind);
        const { reference } = second.take({ token: 'paid', generationId: g.generationId, parameters: {} } as never);
        if (isAnswered) await change({ event: 'accepted', reference, fence: 2 }, behind);
      };
      const worker = CoreWorker.idle(harness, 'worker', async (call) => {
        if (call.name === 'generations.replace' && !hasSubmitted) await submitElsewhere();
        return call.proceed();
      });
      void worker.dispatcher.deliver(g.generationId);
      await worker.context.wakeUps.start(({ id }) => worker.dispatcher.deliver(id), 10_000);
      const ended = await untilSettled(harness, g.generationId);
      expect([hasSubmitted, first.submissions.length, first.recovers, second.submissions.length]).to.deep.equal([
        true,
        0,
        0,
        0,
      ]);
      expect([ended.status, ended.attempt?.token, ended.chargedCredits]).to.deep.equal(['succeeded', 'paid', 10]);
    });
  }
});
