/*
 * Goal: reference files get to the server of their task before it, once for equal ones, and a task is never submitted without them.
 * Method: the provider on a fake server, whose uploads meet faults; what it was sent is held against what should have been sent.
 */
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { REFERENCE_UNREAD } from '../../../../adapters/providers/shared/whole-references.js';
import type { JsonObject } from '../../../../core/json.js';
import { submitted, WANTED } from '../../../contracts/provider.contract.js';
import { streamOf } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { openStudio, postsTo, reference, type Studio, task } from './opened-comfyui.js';
import { EDIT_SETTINGS } from './workflows.js';

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
    [
      'is answered with another shape',
      { type: 'status', status: 200, body: '{"name":"../../x.png"}', headers: { 'content-type': 'application/json' } },
      'capacity',
    ],
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
