/*
 * Goal: a rendering that is stopped at any moment does no harm to the next one.
 * Method: the signal is aborted at the last progress, when the result of the thread is already on its way.
 */
import { expect } from 'chai';
import { readPlan } from '../../../../adapters/providers/sandbox/plan.js';
import { RenderFailed, RenderThreads, type RenderJob } from '../../../../adapters/providers/sandbox/render.js';

describe('Sandbox rendering threads', () => {
  it('give the next job to no thread that is being ended', async () => {
    const threads = new RenderThreads();
    const plan = readPlan({ painter: 'image' }, { size: '64x64' });
    const job: RenderJob = { prompt: 'a lighthouse', negativePrompt: '', plan, references: [] };
    for (let round = 0; round < 10; round += 1) {
      const stopped = new AbortController();
      const outcome = await threads
        .render(job, stopped.signal, (share) => share === 1 && stopped.abort())
        .catch((error: unknown) => error);
      expect(outcome).to.be.instanceOf(RenderFailed);
      const [picture] = await threads.render(job, new AbortController().signal, () => undefined);
      expect(picture?.mediaType).to.equal('image/png');
    }
    await threads.close();
  });
});
