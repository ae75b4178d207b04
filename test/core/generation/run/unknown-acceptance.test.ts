// Goal: an attempt nobody knows to have been taken is never simply submitted anew: the provider is asked by its token where
// it can be, and otherwise the model's policy decides.
// Method: submissions that are cut before and after the provider took them, with providers that can and cannot tell.
import { expect } from 'chai';
import { cancelGeneration } from '../../../../core/generation/cancel-generation.js';
import { CoreWorker, untilSettled } from '../../../fixtures/core-worker.js';
import { CoreWorld } from '../../../fixtures/core-world.js';
import { Life } from '../../../fixtures/cut-processes.js';
import { imageModel } from '../../../fixtures/core-models.js';

async function start(policy: 'resubmit' | 'fail'): Promise<CoreWorld> {
  const world = await CoreWorld.open({ models: [imageModel({ onUnknownAcceptance: policy })] });
  await CoreWorker.start(world);
  return world;
}

describe('a submission of unknown outcome', () => {
  for (const policy of ['resubmit', 'fail'] as const) {
    it(`goes on with the task when the provider has it (${policy})`, async () => {
      const world = await start(policy);
      world.provider.submitScript = ['take-and-throw'];
      const g = await untilSettled(world, (await world.create()).generationId);
      expect([g.status, g.attemptsMade, world.provider.submissions.length, world.provider.tasks.size]).to.deep.equal(['succeeded', 1, 1, 1]);
    });

    it(`hands the task over again, under the same token, when the provider does not have it (${policy})`, async () => {
      const world = await start(policy);
      world.provider.submitScript = ['throw', 'accept'];
      const g = await untilSettled(world, (await world.create()).generationId);
      expect([g.status, g.attemptsMade, world.provider.submissions.length, world.provider.tasks.size]).to.deep.equal(['succeeded', 1, 2, 1]);
      expect(new Set(world.provider.submissions.map(({ token }) => token)).size).to.equal(1);
    });

    it(`goes on when a submission never answers (${policy})`, async () => {
      const world = await start(policy);
      world.provider.submitScript = ['hang', 'accept'];
      const g = await untilSettled(world, (await world.create()).generationId);
      expect([g.status, world.provider.tasks.size]).to.deep.equal(['succeeded', 1]);
    });
  }

  it('ends within the grace after a cancel, and costs nothing, while the provider does not even say whether it has the task', async () => {
    const world = await start('resubmit');
    world.provider.recoverScript = 'throw';
    world.provider.submitScript = ['take-and-throw'];
    const { generationId } = await world.create();
    await world.clock.until(() => world.provider.recovers > 0, 'the provider was asked');
    await cancelGeneration(world.context, world.caller, generationId);
    const cancelledAt = world.clock.now();
    const g = await untilSettled(world, generationId);
    expect([g.status, g.chargedCredits]).to.deep.equal(['cancelled', 0]);
    expect(world.clock.now() - cancelledAt).to.be.at.most(world.settings.cancelGraceMs + world.settings.leaseMs);
  });

  it('hands it over again, under the same token, when the provider cannot tell and the model allows', async () => {
    const world = await start('resubmit');
    world.provider.recoverScript = 'unsupported';
    world.provider.submitScript = ['take-and-throw', 'accept'];
    const g = await untilSettled(world, (await world.create()).generationId);
    expect([g.status, world.provider.submissions.length, world.provider.tasks.size]).to.deep.equal(['succeeded', 2, 1]);
  });

  for (const policy of ['fail', 'resubmit'] as const) {
    it(`asks again until the provider knows, however often it does not yet, and follows what it has (${policy})`, async () => {
      const world = await start(policy);
      world.provider.submitScript = ['take-and-throw', 'accept'];
      world.provider.recoverScript = { found: 'not-yet', retryAfterMs: 7_000 };
      const { generationId } = await world.create();
      await world.clock.advance(200_000);
      expect(world.provider.recovers, 'asked more often than a silent provider is').to.be.within(28, 30);
      world.provider.recoverScript = 'answer';
      const g = await untilSettled(world, generationId);
      expect([g.status, g.attemptsMade, world.provider.submissions.length]).to.deep.equal(['succeeded', 1, 1]);
    });

    it(`hands nothing over again, and charges nothing, when the provider does not know before the deadline (${policy})`, async () => {
      const world = await start(policy);
      world.provider.submitScript = ['take-and-throw', 'accept'];
      world.provider.recoverScript = { found: 'not-yet' };
      const g = await untilSettled(world, (await world.create()).generationId);
      expect([g.status, g.error?.code, g.chargedCredits, world.provider.submissions.length]).to.deep.equal(['failed', 'TASK_TIMEOUT', 0, 1]);
      expect(g.completedAt).to.equal((g.runDeadlineAt ?? 0) + 1);
    });
  }

  it('hands it over again once a provider that did not know yet says that it has no such task', async () => {
    const world = await start('fail');
    world.provider.submitScript = ['throw', 'accept'];
    world.provider.recoverScript = { found: 'not-yet', retryAfterMs: 5_000 };
    const { generationId } = await world.create();
    await world.clock.advance(20_000);
    expect(world.provider.submissions).to.have.length(1);
    world.provider.recoverScript = 'answer';
    const g = await untilSettled(world, generationId);
    expect([g.status, g.attemptsMade, world.provider.submissions.length]).to.deep.equal(['succeeded', 1, 2]);
  });

  it('is asked about again within the cap of the settings, whatever wait the provider asks for, and never hammered', async () => {
    const waits = [Number.NaN, -1, 0, 1, 86_400_000, 2 ** 60];
    for (const retryAfterMs of waits) {
      const world = await start('fail');
      world.provider.submitScript = ['take-and-throw'];
      world.provider.recoverScript = { found: 'not-yet', retryAfterMs };
      await world.create();
      await world.clock.advance(300_000);
      const { retryBaseMs, retryAfterCapMs } = world.settings;
      const waitMs = retryAfterMs > retryBaseMs ? retryAfterCapMs : retryBaseMs;
      expect(world.provider.recovers, `a wait of ${retryAfterMs} ms`).to.be.within(Math.floor(300_000 / waitMs), Math.floor(300_000 / waitMs) + 1);
    }
  });

  it('ends within the grace after a cancel, and costs nothing, while the provider does not know yet', async () => {
    const world = await start('resubmit');
    world.provider.recoverScript = { found: 'not-yet' };
    world.provider.submitScript = ['take-and-throw'];
    const { generationId } = await world.create();
    await world.clock.until(() => world.provider.recovers > 0, 'the provider was asked');
    await cancelGeneration(world.context, world.caller, generationId);
    const g = await untilSettled(world, generationId);
    expect([g.status, g.chargedCredits, world.provider.submissions.length]).to.deep.equal(['cancelled', 0, 1]);
    expect((g.completedAt ?? 0) - (g.cancelRequestedAt ?? 0)).to.be.at.most(world.settings.cancelGraceMs + world.settings.leaseMs);
  });

  it('after a cancel is asked about until it is known, and then stopped', async () => {
    const world = await start('resubmit');
    world.provider.recoverScript = { found: 'not-yet', retryAfterMs: 5_000 };
    world.provider.submitScript = ['take-and-throw'];
    world.provider.newReport = () => ({ state: 'running' });
    const { generationId } = await world.create();
    await world.clock.until(() => world.provider.recovers > 0, 'the provider was asked');
    await cancelGeneration(world.context, world.caller, generationId);
    await world.clock.advance(6_000);
    world.provider.recoverScript = 'answer';
    expect((await untilSettled(world, generationId)).status).to.equal('cancelled');
    expect(world.provider.onlyTask.cancels).to.equal(1);
  });

  it('fails without charge, and is never handed over again, when the provider cannot tell and the model says so', async () => {
    const world = await start('fail');
    world.provider.recoverScript = 'unsupported';
    world.provider.submitScript = ['take-and-throw', 'accept'];
    const g = await untilSettled(world, (await world.create()).generationId);
    expect([g.status, g.error?.code, g.chargedCredits, world.provider.submissions.length]).to.deep.equal(['failed', 'PROVIDER_UNAVAILABLE', 0, 1]);
  });

  it('fails without charge, and is never handed over again, when the provider stays silent and the model says so', async () => {
    const world = await start('fail');
    world.provider.recoverScript = 'throw';
    world.provider.submitScript = ['take-and-throw', 'accept'];
    const g = await untilSettled(world, (await world.create()).generationId);
    expect([g.status, g.error?.code, g.chargedCredits, world.provider.submissions.length]).to.deep.equal(['failed', 'PROVIDER_UNAVAILABLE', 0, 1]);
  });

  it('does not hammer a provider that takes nothing', async () => {
    const world = await start('resubmit');
    world.provider.submitScript = ['throw'];
    const times: number[] = [];
    world.provider.onSubmit = () => { times.push(world.clock.now()); };
    const g = await untilSettled(world, (await world.create()).generationId);
    expect([g.status, g.chargedCredits]).to.deep.equal(['failed', 0]);
    for (const at of times) expect(times.filter((other) => other >= at && other < at + 1_000).length, 'submissions within a second').to.be.at.most(3);
  });

  it('is found out about by the next worker when the first one died in between', async () => {
    const world = await CoreWorld.open();
    const life = new Life();
    await CoreWorker.start(world, 'dying', life.interceptor);
    world.provider.onSubmit = () => { life.isDead = true; };
    const { generationId } = await world.create();
    await world.clock.advance(1_000);
    expect((await world.generation(generationId)).attempt?.phase).to.equal('submitting');
    world.provider.onSubmit = () => undefined;
    await world.clock.advance(world.settings.leaseMs);
    const second = CoreWorker.idle(world, 'second');
    await second.dispatcher.deliver(generationId);
    const g = await untilSettled(world, generationId);
    expect([g.status, g.attemptsMade, world.provider.submissions.length, world.provider.tasks.size]).to.deep.equal(['succeeded', 1, 1, 1]);
  });
});
