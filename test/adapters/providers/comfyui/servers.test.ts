import { expect } from 'chai';
import fc from 'fast-check';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import type { ComfyUiProvider } from '../../../../adapters/providers/comfyui/comfyui-provider.js';
import { NodesDone } from '../../../../adapters/providers/comfyui/nodes-done.js';
import { REFERENCE_UNREAD } from '../../../../adapters/providers/shared/whole-references.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { bytesOf, reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { streamOf } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { ComfyUiFake } from '../../../providers/fakes/comfyui-fake.js';
import { jsonFault } from '../../../providers/fakes/faults.js';
import type { WebSocketPeer } from '../../../providers/fakes/web-socket-peer.js';
import { comfyUiAt, openStudio, postsTo, reference, type Studio, task } from './opened-comfyui.js';
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

/*
 * Goal: what the provider does with a server is right with a real one, and the fake that other tests use behaves like it.
 * Method: one suite runs against fakes of a newer and an older server, and against the real one that TEST_COMFYUI_URL names.
 */

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

async function ended(provider: ComfyUiProvider, submission: Submission) {
  const taken = await submitted(provider, submission);
  return { taken, last: (await reportsUntilOver(provider, taken, submission)).at(-1)! };
}

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
      const { taken, last } = await ended(provider, submission);
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
      const { taken, last } = await ended(provider, submission);
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

    it('fails a task whose reference file is not an image, for its input', async () => {
      const references = [reference(Buffer.from(`no image ${randomUUID()}`))];
      const { last } = await ended(provider, task({ settings: EDIT_SETTINGS, references }));
      expect(last).to.have.property('failure').that.includes({ code: 'INPUT_INVALID', mayRetry: false });
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

/*
 * Goal: progress comes from the server that has the task, never goes back, and nothing depends on it.
 * Method: a fake that waits at each node, and WebSockets that break, lie or are never there.
 */

describe('the progress of ComfyUI tasks', () => {
  let studio: Studio;
  beforeEach(async () => void (studio = await openStudio()));
  afterEach(() => studio.close());

  async function progressOf(taken: string, submission: Submission): Promise<number | undefined> {
    const report = await studio.provider.poll(taken, submission.settings, WANTED);
    return report.state === 'running' ? report.progress : undefined;
  }

  /** No node waits any more. */
  const goOn = () => {
    studio.fake.queue.isStepped = false;
    studio.fake.queue.step();
  };
  const closing = (socket: WebSocketPeer) => new Promise<void>((resolve) => socket.onClose(resolve));

  /** Submits, and waits for the WebSocket. */
  async function begun(): Promise<{ taken: string; submission: Submission; socket: WebSocketPeer }> {
    const { provider, fake } = studio;
    fake.queue.isStepped = true;
    fake.queue.isHeld = true;
    const submission = task();
    const taken = await submitted(provider, submission);
    while (fake.sockets.size === 0) await sleep(1);
    fake.queue.release();
    return { taken, submission, socket: [...fake.sockets.values()][0]! };
  }

  async function until(taken: string, submission: Submission, isReached: (share: number | undefined) => boolean) {
    for (;;) {
      const share = await progressOf(taken, submission);
      if (isReached(share)) return share;
      await sleep(1);
    }
  }

  it('rises with the nodes that are done', async () => {
    const { taken, submission } = await begun();
    await until(taken, submission, (share) => share === 0);
    studio.fake.queue.step();
    await until(taken, submission, (share) => share === 0.5);
    studio.fake.queue.step();
    const last = (await reportsUntilOver(studio.provider, taken, submission)).at(-1)!;
    expect(last.state).to.equal('succeeded');
  });

  it('closes its connection when no task is left, and opens another for the next one', async () => {
    const { taken, submission, socket } = await begun();
    goOn();
    const closed = closing(socket);
    await reportsUntilOver(studio.provider, taken, submission);
    await closed;
    studio.fake.sockets.clear();
    await submitted(studio.provider, task());
    while (studio.fake.sockets.size === 0) await sleep(1);
  });

  const harms: Readonly<Record<string, (socket: WebSocketPeer) => void>> = {
    'is cut': (socket) => socket.cut(),
    'is closed': (socket) => socket.close(),
    'sends what is no JSON': (socket) => socket.send('{'),
    'sends pictures': (socket) => socket.send(new Uint8Array(70_000)),
    'sends no frames': (socket) => socket.sendRaw(new Uint8Array(64).fill(255)),
    'sends null': (socket) => socket.send('null'),
    'speaks of other tasks': (socket) => socket.send('{"type":"progress_state","data":{"prompt_id":"x","nodes":{}}}'),
  };
  for (const [what, harm] of Object.entries(harms))
    it(`is not needed when the connection ${what}`, async () => {
      const { taken, submission, socket } = await begun();
      harm(socket);
      goOn();
      const last = (await reportsUntilOver(studio.provider, taken, submission)).at(-1)!;
      expect(last.state).to.equal('succeeded');
    });

  it('is nothing in another process', async () => {
    const { taken, submission } = await begun();
    await until(taken, submission, (share) => share !== undefined);
    const report = await studio.another().poll(taken, submission.settings, WANTED);
    expect(report).to.deep.equal({ state: 'running' });
  });

  it('holds no process back once the provider is closed', async () => {
    const { socket } = await begun();
    const closed = closing(socket);
    await studio.provider.close();
    await closed;
  });

  it('holds neither a task nor a stop where the server never answers the upgrade', async () => {
    const { provider, fake } = studio;
    fake.leavesUpgrades = true;
    expect((await ended(provider, task())).last.state).to.equal('succeeded');
    fake.queue.isHeld = true;
    await submitted(provider, task());
    while (fake.leftUpgrades.length < 2) await sleep(1);
    const left = Promise.all(fake.leftUpgrades.map(async (socket) => socket.readableEnded || once(socket, 'end')));
    await provider.close();
    await left;
  });

  it('holds neither a task nor a stop where the server never closes', async () => {
    const { taken, submission, socket } = await begun();
    socket.isDeaf = true;
    const closed = closing(socket);
    await studio.provider.cancel(taken, submission.settings, WANTED);
    const last = (await reportsUntilOver(studio.provider, taken, submission)).at(-1)!;
    expect(last.state).to.equal('cancelled');
    await studio.provider.close();
    await closed;
  });

  it('never goes back and never reaches the end, whatever is said', () => {
    const states = fc.record({
      state: fc.constantFrom('running', 'finished', 'pending'),
      value: fc.double(),
      max: fc.double(),
    });
    const message = fc.oneof(
      fc.record({
        type: fc.constant('progress_state'),
        data: fc.record({ nodes: fc.dictionary(fc.constantFrom('1', '2', '3', '4', '5'), states) }),
      }),
      fc.record({
        type: fc.constant('execution_cached'),
        data: fc.record({ nodes: fc.array(fc.constantFrom('1', '2', '9')) }),
      }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5 }), fc.array(message), (nodes, messages) => {
        const done = new NodesDone(nodes);
        let before = 0;
        for (const one of messages) {
          done.hear(one);
          const share = done.share ?? 0;
          expect(share).to.be.within(before, 0.99);
          before = share;
        }
      }),
    );
  });
});

/*
 * Goal: reference files get to the server of their task before it, once for equal ones, and a task is never submitted without them.
 * Method: the provider on a fake server, whose uploads meet faults; the requests it received are compared with the
 * expected ones.
 */

type Graph = Readonly<Record<string, { readonly inputs: JsonObject }>>;

const edit = (wish: Parameters<typeof task>[0]) => task({ settings: EDIT_SETTINGS, ...wish });

describe('reference files of ComfyUI tasks', () => {
  let studio: Studio;
  beforeEach(async () => void (studio = await openStudio()));
  afterEach(() => studio.close());

  it('are kept under names of their content', async () => {
    const { provider, fake } = studio;
    const picture = await image('png', 40, 30);
    for (let count = 0; count < 2; count += 1) await submitted(provider, edit({ references: [reference(picture)] }));
    const name = `darkroom/${createHash('sha256').update(picture).digest('hex')}.png`;
    expect([...fake.queue.files.keys()].filter((path) => path.startsWith('input/'))).to.deep.equal([`input/${name}`]);
    const loaded = postsTo(fake.server, '/prompt').map((sent) => (sent['prompt'] as Graph)['8']!.inputs['image']);
    expect(loaded).to.deep.equal([name, name]);
  });

  it('have the name that the server gave them where theirs was taken', async () => {
    const { provider, fake } = studio;
    const picture = await image('png', 40, 30);
    const hash = createHash('sha256').update(picture).digest('hex');
    fake.queue.files.set(`input/darkroom/${hash}.png`, new Uint8Array([1]));
    await submitted(provider, edit({ references: [reference(picture)] }));
    const [sent] = postsTo(fake.server, '/prompt');
    expect((sent!['prompt'] as Graph)['8']!.inputs['image']).to.equal(`darkroom/${hash} (1).png`);
  });

  it('are refused where they are more or fewer than the workflow loads, before anything is sent', async () => {
    const { provider, fake } = studio;
    const picture = reference(await image('png'));
    for (const references of [
      [],
      [picture, picture],
      [picture, reference(new Uint8Array(1), { role: 'start_frame' })],
    ]) {
      const answer = await provider.submit(edit({ references }), WANTED);
      expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
    }
    expect(fake.server.requests).to.have.length(0);
  });

  it('are neither kept nor used where they change between the reading for their name and the upload', async () => {
    const { provider, fake } = studio;
    const picture = await image('png', 40, 30);
    const readings = [picture, Uint8Array.from(picture, (byte, at) => (at === picture.length - 20 ? byte ^ 1 : byte))];
    const changing = reference(picture, { open: async () => streamOf(readings.shift() ?? picture) });
    const answer = await provider.submit(edit({ references: [changing] }), WANTED);
    expect(answer).to.equal(REFERENCE_UNREAD);
    await fake.server.settled();
    const whole = fake.server.requests.filter(({ of, isWhole }) => isWhole && of.includes('upload'));
    expect([whole.length, fake.server.posts, fake.queue.files.size]).to.deep.equal([0, 0, 0]);
  });

  for (const [name, plan, because] of [
    ['is lost', { type: 'lose-answer' }, 'capacity'],
    ['is cut', { type: 'cut-body' }, 'capacity'],
    ['meets a broken server', { type: 'status', status: 500 }, 'capacity'],
    ['is answered with another shape', jsonFault(200, { name: '../../x.png' }), 'capacity'],
    ['is too large for a proxy', { type: 'status', status: 413 }, undefined],
  ] as const)
    it(`keep the task from being submitted when an upload ${name}`, async () => {
      const { provider, fake } = studio;
      fake.server.plan(plan, { of: 'upload' });
      const answer = await provider.submit(edit({ references: [reference(await image('png'))] }), WANTED);
      expect(answer.accepted).to.equal(false);
      expect('because' in answer ? answer.because : undefined).to.equal(because);
      expect(fake.server.posts).to.equal(0);
    });
});
