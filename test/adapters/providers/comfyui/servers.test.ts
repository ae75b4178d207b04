/*
 * Goal: what the provider does with a server is right with a real one, and the fake that other tests use behaves like it.
 * Method: one suite runs against fakes of a newer and an older server, and against the real one that TEST_COMFYUI_URL names.
 */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import type { ComfyUiProvider } from '../../../../adapters/providers/comfyui/comfyui-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { bytesOf, reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { image } from '../../../fixtures/images.js';
import { ComfyUiFake } from '../../../providers/fakes/comfyui-fake.js';
import { comfyUiAt, reference, task } from './opened-comfyui.js';
import {
  EDIT_SETTINGS,
  folderWith,
  LONG_SETTINGS,
  PROMPT,
  STILL,
  STILL_SETTINGS,
  VIDEO_SETTINGS,
  WORKFLOWS,
} from './workflows.js';

const WITHOUT_MODEL: JsonObject = {
  ...STILL,
  9: { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'no-such-model.safetensors' } },
  10: { class_type: 'CLIPTextEncode', inputs: { text: '', clip: ['9', 1] } },
  11: { class_type: 'NoSuchNode', inputs: {} },
};

const real = process.env['TEST_COMFYUI_URL'];
for (const version of ['0.33.0', '0.3.64']) describeServer(`a fake of ${version}`, () => ComfyUiFake.open({ version }));
if (real === undefined) it.skip('works with a real ComfyUI (skipped: TEST_COMFYUI_URL names no server)');
else describeServer('a real server', async () => ({ url: real, close: async () => undefined }));

function describeServer(
  name: string,
  open: () => Promise<{ readonly url: string; readonly close: () => Promise<void> }>,
): void {
  describe(`comfyui with ${name}`, () => {
    let server: Awaited<ReturnType<typeof open>>;
    let provider: ComfyUiProvider;
    let files: ReturnType<typeof folderWith>;
    beforeEach(async () => {
      server = await open();
      files = folderWith({ ...WORKFLOWS, 'without-model.json': WITHOUT_MODEL });
      provider = comfyUiAt([server.url], { folder: files.folder });
    });
    afterEach(async () => {
      await provider.close();
      await server.close();
      files.remove();
    });

    async function outputsOf(submission: Submission): Promise<readonly Buffer[]> {
      const taken = await submitted(provider, submission);
      const last = (await reportsUntilOver(provider, taken, submission)).at(-1)!;
      if (last.state !== 'succeeded') throw new Error(`The task ended ${last.state}.`);
      return Promise.all(
        last.outputs.map((_, index) => bytesOf(provider.output(taken, index, submission.settings, WANTED))),
      );
    }

    it('makes as many pictures as asked for, of the size asked for, and no previews', async () => {
      const made = await outputsOf(task({ parameters: { n: 3, size: '80x56' }, outputCount: 3 }));
      expect(made).to.have.length(3);
      for (const picture of made)
        expect(await sharp(picture).metadata()).to.include({ format: 'png', width: 80, height: 56 });
    });

    it('makes own files for each task, also for equal ones', async () => {
      const wish = { parameters: { seed: 7 } };
      const [first, second] = [task(wish), task(wish)];
      const both = [await outputsOf(first), await outputsOf(second)];
      expect(both.map((made) => made.length)).to.deep.equal([1, 1]);
    });

    it('makes a video, though it is listed among pictures', async () => {
      const submission = task({ settings: VIDEO_SETTINGS, operation: 'video_generation' });
      const taken = await submitted(provider, submission);
      const last = (await reportsUntilOver(provider, taken, submission)).at(-1)!;
      expect(last).to.deep.equal({ state: 'succeeded', outputs: [{ kind: 'video', mediaType: 'video/mp4' }] });
      const video = await bytesOf(provider.output(taken, 0, submission.settings, WANTED));
      expect(video.toString('latin1', 4, 8)).to.equal('ftyp');
    });

    it('uses a reference file, the same one for several tasks', async () => {
      const picture = await image('png', 72, 40);
      for (let count = 0; count < 2; count += 1) {
        const [made] = await outputsOf(task({ settings: EDIT_SETTINGS, references: [reference(picture)] }));
        expect(await sharp(made).metadata()).to.include({ width: 72, height: 40 });
      }
    });

    it('fails a task whose reference file is no image, for its input', async () => {
      const submission = task({
        settings: EDIT_SETTINGS,
        references: [reference(Buffer.from(`no image ${randomUUID()}`))],
      });
      const taken = await submitted(provider, submission);
      const last = (await reportsUntilOver(provider, taken, submission)).at(-1)!;
      if (last.state !== 'failed') throw new Error(`The task ended ${last.state}.`);
      expect(last.failure).to.include({ code: 'INPUT_INVALID', mayRetry: false });
    });

    it('refuses a value that a node does not take, and names the parameter', async () => {
      const answer = await provider.submit(task({ parameters: { size: '99999x64' } }), WANTED);
      expect(answer).to.deep.equal({
        accepted: false,
        failure: { code: 'INPUT_INVALID', message: 'The provider does not take this value of size.', mayRetry: false },
      });
    });

    it('refuses a workflow whose nodes the server does not have, so that another provider may take it', async () => {
      const settings = { workflow: 'without-model.json', inputs: { prompt: PROMPT } };
      const answer = await provider.submit(task({ settings }), WANTED);
      expect(answer).to.include({ accepted: false, because: 'not-here' });
      expect(await provider.check([STILL_SETTINGS, settings], WANTED))
        .to.have.property('faults')
        .that.deep.equals([
          `without-model.json at ${server.url}: the input ckpt_name of node 9 (CheckpointLoaderSimple) is no-such-model.safetensors, which the server does not have; it has ${server.url === real ? 'none' : 'sd15.safetensors'}.`,
          `without-model.json at ${server.url}: the node 11 (NoSuchNode) is of a class that the server does not have.`,
        ]);
    });

    it('cancels a task that waits, and leaves the one that runs alone', async () => {
      const [running, waiting] = [task({ settings: LONG_SETTINGS }), task()];
      const long = await submitted(provider, running);
      try {
        const queued = await submitted(provider, waiting);
        await provider.cancel(queued, waiting.settings, WANTED);
        expect(await provider.poll(queued, waiting.settings, WANTED)).to.deep.equal({
          state: 'cancelled',
          outputs: [],
        });
        expect((await provider.poll(long, running.settings, WANTED)).state).to.equal('running');
        const other = comfyUiAt([server.url], { folder: files.folder });
        expect(await other.poll(queued, waiting.settings, WANTED), 'in another process').to.deep.equal({
          state: 'unknown',
        });
        await other.close();
      } finally {
        await provider.cancel(long, running.settings, WANTED);
      }
      expect((await reportsUntilOver(provider, long, running)).at(-1)).to.deep.equal({
        state: 'cancelled',
        outputs: [],
      });
    });

    it('tells the progress of a task to the process that submitted it', async () => {
      const submission = task({ settings: LONG_SETTINGS });
      const taken = await submitted(provider, submission);
      try {
        for (;;) {
          const report = await provider.poll(taken, submission.settings, WANTED);
          if (report.state !== 'running') throw new Error(`The task ended ${report.state}.`);
          if (report.progress !== undefined) break;
          await sleep(5);
        }
      } finally {
        await provider.cancel(taken, submission.settings, WANTED);
      }
      await reportsUntilOver(provider, taken, submission);
    });
  });
}
