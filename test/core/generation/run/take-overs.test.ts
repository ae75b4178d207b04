// Goal: a generation that lost its worker continues before newer ones start, in every queue and after any number of
// lost wake-ups, because its run deadline does not pause.
// Method: a worker dies in the middle of a run, and another worker has more to start than it has places; the test
// checks what it runs next.
import { expect } from 'chai';
import type { WakeUpSubject } from '../../../../core/ports/wake-ups.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { imageModel } from '../../../fixtures/core-models.js';
import { imagesOf } from '../../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../../harness/core-harness.js';
import { CoreWorker } from '../../../harness/core-worker.js';
import { Life } from '../../../harness/cut-processes.js';

interface Cut {
  readonly harness: CoreHarness;
  readonly second: CoreWorker;
  readonly cut: string;
  readonly younger: readonly string[];
}

/**
 * One run was interrupted and its lease has lapsed; another worker's only place is taken, and more generations of the
 * same account wait.
 */
async function cutRun(): Promise<Cut> {
  const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1, concurrencyPerAccount: 1 })] });
  harness.provider.newReport = () => ({ state: 'running' });
  const life = new Life();
  const first = CoreWorker.idle(harness, 'first', life.interceptor);
  const second = CoreWorker.idle(harness, 'second');
  const { generationId: cut } = await harness.create();
  void first.dispatcher.deliver(cut);
  await harness.clock.advance(100);
  life.isDead = true;
  const younger: string[] = [];
  for (let made = 0; made < 4; made += 1) younger.push((await harness.create()).generationId);
  for (const id of younger) void second.dispatcher.deliver(id);
  await harness.clock.advance(harness.settings.leaseMs + 2_000);
  expect((await harness.generation(cut)).lease?.worker).to.equal('first');
  return { harness, second, cut, younger };
}

function endTasks(harness: CoreHarness): void {
  for (const task of harness.provider.tasks.values()) task.report = { state: 'succeeded', outputs: imagesOf(1) };
}

describe('a generation that lost its worker', () => {
  it('gets the next place before newer ones of its account that have waited for it', async () => {
    const { harness, second, cut, younger } = await cutRun();
    void second.dispatcher.deliver(cut);
    await harness.clock.advance(100);
    expect(harness.provider.submissions.map(({ generationId }) => generationId)).to.deep.equal([cut, younger[0]]);
    endTasks(harness);
    await harness.clock.advance(10_000);
    expect((await harness.generation(cut)).status, 'taken over').to.equal('succeeded');
    expect((await harness.generation(younger[1] ?? '')).fence, 'and the next one after it').to.equal(1);
    expect((await harness.generation(younger[2] ?? '')).fence).to.equal(0);
  });

  it('also comes first when it had been waiting for its start in the same queue', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ concurrency: 1, concurrencyPerAccount: 1 })] });
    harness.provider.newReport = () => ({ state: 'running' });
    const life = new Life();
    const [first, second] = [CoreWorker.idle(harness, 'first', life.interceptor), CoreWorker.idle(harness, 'second')];
    const ids: string[] = [];
    for (let made = 0; made < 5; made += 1) ids.push((await harness.create()).generationId);
    for (const id of ids) void second.dispatcher.deliver(id);
    await harness.clock.advance(100);
    // The last one in the second worker's queue starts in the first worker, which dies.
    const cut = ids[4] ?? '';
    void first.dispatcher.deliver(cut);
    await harness.clock.advance(100);
    life.isDead = true;
    await harness.clock.advance(harness.settings.leaseMs + 2_000);
    void second.dispatcher.deliver(cut);
    await harness.clock.advance(100);
    endTasks(harness);
    await harness.clock.advance(10_000);
    expect((await harness.generation(cut)).status).to.equal('succeeded');
    expect((await harness.generation(ids[1] ?? '')).fence).to.equal(1);
    expect((await harness.generation(ids[2] ?? '')).fence).to.equal(0);
  });

  it('is woken again after a lease when the woken worker died too, and a queued one after a minute', async () => {
    const { harness, cut, younger } = await cutRun();
    const woken: [string, number][] = [];
    const recovery = new Recovery(
      harness.process(async (call) => {
        if (call.name === 'wakeUps.schedule') woken.push([(call.args[0] as WakeUpSubject).id, call.args[1] as number]);
        return call.proceed();
      }),
    );
    await harness.clock.run(recovery.pass());
    const { createdAt } = await harness.generation(cut);
    expect(woken).to.deep.include([cut, createdAt]);
    woken.length = 0;
    await harness.clock.advance(harness.settings.leaseMs + 1);
    await harness.clock.run(recovery.pass());
    expect(woken).to.deep.equal([[cut, createdAt]]);
    await harness.clock.advance(60_000);
    await harness.clock.run(recovery.pass());
    expect(woken.map(([id]) => id)).to.include.members([younger[1], younger[2], younger[3]]);
  });
});
