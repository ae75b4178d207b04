import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { ProviderReference, Submission } from '../../../core/ports/provider.js';
import { breakingOff, inPieces } from '../../fixtures/byte-streams.js';
import { WANTED } from '../provider.contract.js';
import { isObject } from '../../../adapters/providers/shared/json-members.js';
import { failureOf, NotApplicable, submittedWhole, type Case, type Cases } from './cases.js';
import { arrived, expectPosts } from './submissions.js';

/** Tests of tasks with a file: the vendor accepts no task before it has the whole file. */
export function describeReferences(proves: Cases): void {
  proves('submits a task with a reference once', async (one) => {
    const submission = taskWith(one, randomUUID(), referenceOf(PICTURE_BYTES));
    expect((await submittedWhole(one, one.provider, submission, WANTED)).answer.accepted).to.equal(true);
    await expectPosts(one, { posts: 1, handled: 1 });
  });

  proves('never completes a task whose reference is held back until the call is aborted', async (one) => {
    const abort = new AbortController();
    const reference = referenceOf(PICTURE_BYTES, () => abort.abort());
    const submission = taskWith(one, randomUUID(), reference);
    expect(await failureOf(submittedWhole(one, one.provider, submission, abort))).to.be.instanceOf(Error);
    expect(abort.signal.aborted, 'the reference was read').to.equal(true);
    await expectNoneWhole(one);
  });

  proves('never completes a task whose reference cannot be read to its end', async (one) => {
    const reference = referenceOf(PICTURE_BYTES, () => {
      throw new Error('The reference cannot be read.');
    });
    const submission = taskWith(one, randomUUID(), reference);
    const outcome = await submittedWhole(one, one.provider, submission, WANTED).catch(() => undefined);
    expect(outcome?.answer.accepted ?? false, 'accepted').to.equal(false);
    await expectNoneWhole(one);
  });

  for (const [name, open] of UNREADABLE)
    proves(`refuses for certain, and not for the vendor's sake, a task whose reference ${name}`, async (one) => {
      const submission = taskWith(one, randomUUID(), { ...referenceOf(PICTURE_BYTES), open });
      const outcome = await submittedWhole(one, one.provider, submission, WANTED).catch((error: unknown) => error);
      await expectNoneWhole(one);
      if (outcome instanceof Error) throw outcome;
      expect(outcome).to.have.nested.property('answer.failure').that.includes(UNREAD);
      expect(outcome, 'the vendor is not to blame').to.not.have.nested.property('answer.because');
    });

  proves('submits a task with a masked reference once', async (one) => {
    const submission = maskedTask(one, referenceOf(PICTURE_BYTES));
    expect((await submittedWhole(one, one.provider, submission, WANTED)).answer.accepted).to.equal(true);
    await expectPosts(one, { posts: 1, handled: 1 });
  });

  proves('refuses a masked reference that cannot be split, and sends nothing', async (one) => {
    const submission = maskedTask(one, referenceOf(Buffer.from('These bytes are not a picture of any kind.')));
    const { answer } = await submittedWhole(one, one.provider, submission, WANTED);
    if (answer.accepted) throw new NotApplicable('masked references are sent as they are');
    expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
    expect(answer, 'the vendor is not to blame').to.not.have.property('because');
    await expectNoneWhole(one);
  });

  proves('refuses a task without the mask that its model needs, and sends nothing', async (one) => {
    const { settings, ...opaque } = taskWith(one, randomUUID(), referenceOf(PICTURE_BYTES));
    if (!isObject(settings['mask'])) throw new NotApplicable('the settings of this vendor have no mask to require');
    const needing = { ...settings, mask: { ...settings['mask'], required: true } };
    expect(one.provider.capabilities(settings)).to.not.have.property('needsMask');
    expect(one.provider.capabilities(needing)).to.include({ maxMaskedReferences: 1, needsMask: true });
    for (const references of [opaque.references, []]) {
      const task = { ...opaque, settings: needing, references };
      const { answer } = await submittedWhole(one, one.provider, task, WANTED);
      expect(answer).to.deep.equal({
        accepted: false,
        failure: {
          code: 'INPUT_INVALID',
          mayRetry: false,
          message: 'The model needs a reference image with transparent areas.',
        },
      });
    }
    await expectNoneWhole(one);
    const masked = maskedTask(one, referenceOf(PICTURE_BYTES));
    const { answer } = await submittedWhole(one, one.provider, { ...masked, settings: needing }, WANTED);
    expect(answer.accepted).to.equal(true);
  });

  for (const [name, open] of UNREADABLE)
    proves(`refuses for certain a task whose masked reference ${name}`, async (one) => {
      const submission = maskedTask(one, { ...referenceOf(PICTURE_BYTES), open });
      const outcome = await submittedWhole(one, one.provider, submission, WANTED).catch((error: unknown) => error);
      await expectNoneWhole(one);
      if (outcome instanceof Error) throw outcome;
      expect(outcome).to.have.nested.property('answer.failure').that.includes(UNREAD);
    });

  proves('submits no task whose reference the vendor has not taken', async (one) => {
    one.server.plan({ type: 'html', status: 502, isHandled: false }, { of: 'upload' });
    const submission = taskWith(one, randomUUID(), referenceOf(PICTURE_BYTES));
    const outcome = await submittedWhole(one, one.provider, submission, WANTED).catch(() => undefined);
    if (!one.server.requests.some(({ of }) => of.includes('upload')))
      throw new NotApplicable('references are a part of the task itself');
    expect(outcome?.answer.accepted ?? false, 'accepted').to.equal(false);
    await expectPosts(one, { posts: 0 });
  });
}

function taskWith({ withReference }: Case, token: string, reference: ProviderReference): Submission {
  if (withReference === undefined) throw new NotApplicable('this vendor takes no references');
  return withReference(token, reference);
}

function maskedTask(one: Case, reference: ProviderReference): Submission {
  const submission = taskWith(one, randomUUID(), { ...reference, isMasked: true });
  const { maxMaskedReferences = 0 } = one.provider.capabilities(submission.settings);
  if (maxMaskedReferences === 0) throw new NotApplicable('this vendor takes no masks');
  return submission;
}

async function expectNoneWhole(one: Case): Promise<void> {
  await arrived(one);
  const whole = one.server.requests.filter(
    ({ of, isWhole }) => isWhole && (of.includes('submit') || of.includes('upload')),
  );
  expect(whole).to.have.length(0);
  expect(one.tasks(), 'tasks taken').to.equal(0);
  const isUploadedBefore = one.server.requests.some(({ of }) => of.includes('upload'));
  if (isUploadedBefore) expect(one.server.posts, 'submissions begun after the upload').to.equal(0);
}

/** The smallest PNG, and filling after its end. */
const PICTURE_BYTES = Buffer.concat([
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
  Buffer.alloc(64 * 1024),
]);

const UNREAD = { code: 'PROVIDER_UNAVAILABLE', mayRetry: true };

/** References that our own store does not give as they should be. */
const UNREADABLE: readonly (readonly [name: string, open: ProviderReference['open']])[] = [
  [
    'cannot be opened',
    async () => {
      throw new Error('The reference cannot be opened.');
    },
  ],
  ['cannot be read to its end', async () => breakingOff(PICTURE_BYTES.subarray(0, 100))],
  ['breaks after its last byte', async () => breakingOff(PICTURE_BYTES)],
  ['has fewer bytes than it should have', async () => inPieces(PICTURE_BYTES.subarray(1))],
  ['has more bytes than it should have', async () => inPieces(Buffer.concat([PICTURE_BYTES, Buffer.alloc(1)]))],
];

/** A picture in two pieces; `between` is called before the second one is given. */
function referenceOf(bytes: Uint8Array, between: () => void = () => undefined): ProviderReference {
  return {
    role: 'reference_image',
    mediaType: 'image/png',
    byteSize: bytes.byteLength,
    open: async () =>
      (async function* () {
        const half = bytes.byteLength >> 1;
        yield bytes.subarray(0, half);
        between();
        yield bytes.subarray(half);
      })(),
  };
}
