import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { completeUpload } from '../../../core/uploads/complete-upload.js';
import { deleteUpload, getUpload, takesBytes } from '../../../core/uploads/manage-uploads.js';
import type { Upload } from '../../../core/uploads/upload.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { complete, prepare, prepareAndSend, send, smuggle, storedBytes } from './upload-steps.js';

// Goal: a deleted upload leaves no bytes, wherever the deletion is cut; of a deletion and a create one wins, never both.
// Method: the store fails before and after each write; a create and a completion pause at each of their calls meanwhile.

const BYTES = plainImage();

interface Completed {
  readonly harness: CoreHarness;
  readonly uploadId: string;
  readonly objectKey: string;
  readonly stagingKey: string;
}

async function completed(): Promise<Completed> {
  const harness = await CoreHarness.open();
  const prepared = await prepareAndSend(harness, BYTES, 'p');
  const { upload } = await complete(harness, prepared.upload.uploadId);
  return { harness, uploadId: upload.uploadId, objectKey: upload.objectKey ?? '', stagingKey: upload.stagingKey };
}

/** Past the time at which nothing can be sent to the target or be copied from it any more. */
async function sweep(harness: CoreHarness): Promise<void> {
  const { uploadTargetMs, claimLeaseMs, recoveryGraceMs } = harness.settings;
  harness.clock.jump(uploadTargetMs + claimLeaseMs + recoveryGraceMs);
  await harness.clock.run(new Recovery(harness.context).pass());
}

const remove = (harness: CoreHarness, uploadId: string, context = harness.context) =>
  harness.clock.run(deleteUpload(context, harness.caller, uploadId));

const create = (harness: CoreHarness, uploadId: string, context = harness.context) =>
  harness.post('k', harness.body({}, { reference_upload_ids: [uploadId] }), { context });

describe('the deletion of an upload', () => {
  it('removes its bytes at once, and its record once its target has expired', async () => {
    const { harness, uploadId, objectKey } = await completed();
    await remove(harness, uploadId);
    expect(await storedBytes(harness, objectKey)).to.equal(null);
    await expectCode('NOT_FOUND', getUpload(harness.context, harness.caller, uploadId));
    await expectCode('FIELD_INVALID', create(harness, uploadId));
    await expectCode('UPLOAD_URL_EXPIRED', complete(harness, uploadId));
    await expectCode('IDEMPOTENCY_REPLAY_EXPIRED', prepare(harness, BYTES, {}, 'p'));
    await sweep(harness);
    expect(await harness.ports.uploads.read(uploadId)).to.include({ kind: 'expired' });
    await expectCode('NOT_FOUND', remove(harness, uploadId));
    await expectCode('IDEMPOTENCY_REPLAY_EXPIRED', prepare(harness, BYTES, {}, 'p'));
  });

  it('is refused for one that a generation was created with', async () => {
    const { harness, uploadId, objectKey } = await completed();
    await harness.clock.run(create(harness, uploadId));
    await expectCode('CONFLICT', remove(harness, uploadId));
    expect(await storedBytes(harness, objectKey)).not.to.equal(null);
  });

  it('leaves nothing of bytes that are sent to its target later', async () => {
    const harness = await CoreHarness.open();
    const prepared = await prepare(harness, BYTES);
    await remove(harness, prepared.upload.uploadId);
    await smuggle(harness, prepared, BYTES);
    expect((await harness.ports.uploads.usage(harness.caller.accountId, harness.caller.appId)).uploads).to.equal(1);
    await sweep(harness);
    expect(await storedBytes(harness, prepared.upload.stagingKey)).to.equal(null);
    expect((await harness.ports.uploads.usage(harness.caller.accountId, harness.caller.appId)).uploads).to.equal(0);
  });

  for (const failing of ['uploads.replace', 'objects.remove']) {
    for (const nth of [1, 2]) {
      for (const isDone of [false, true]) {
        it(`is completed after ${failing}, call ${nth}, failed ${isDone ? 'after' : 'before'} its effect`, async () => {
          const { harness, uploadId, objectKey, stagingKey } = await completed();
          let calls = 0;
          const failOnce: Interceptor = async (call) => {
            if (call.name !== failing || (calls += 1) !== nth) return call.proceed();
            if (isDone) await call.proceed();
            throw new StoreUnavailable('The line broke.');
          };
          const failed = await remove(harness, uploadId, harness.process(failOnce)).catch((error: unknown) => error);
          expect(failed).to.be.instanceOf(StoreUnavailable);
          const isMarked = (await codeOf(getUpload(harness.context, harness.caller, uploadId))) === 'NOT_FOUND';
          if (!isMarked) await remove(harness, uploadId);
          await sweep(harness);
          expect([await storedBytes(harness, objectKey), await storedBytes(harness, stagingKey)]).to.deep.equal([
            null,
            null,
          ]);
          expect(await harness.ports.uploads.read(uploadId)).to.include({ kind: 'expired' });
        });
      }
    }
  }

  it('and a create exclude each other, wherever the create pauses', async () => {
    const outcomes = new Set<string>();
    for (let at = 0; ; at += 1) {
      const { harness, uploadId, objectKey } = await completed();
      const { gate, interceptor } = pausedAt(at);
      const slow = codeOf(create(harness, uploadId, harness.process(interceptor)));
      await harness.clock.advance(1);
      if (!gate.reached) break;
      const deleted = await codeOf(remove(harness, uploadId));
      gate.open();
      const made = await harness.clock.run(slow);
      outcomes.add(`${made} ${deleted}`);
      expect(await storedBytes(harness, objectKey), `bytes at call ${at}`)[made === 'OK' ? 'not' : 'to'].equal(null);
      expect((await harness.account()).holds.size, `holds at call ${at}`).to.equal(made === 'OK' ? 1 : 0);
    }
    expect([...outcomes].sort()).to.deep.equal(['FIELD_INVALID OK', 'OK CONFLICT']);
  });

  it('leaves no bytes of a completion, wherever that pauses', async () => {
    for (let at = 0; ; at += 1) {
      const harness = await CoreHarness.open();
      const prepared = await prepareAndSend(harness, BYTES);
      const { uploadId, stagingKey } = prepared.upload;
      const { gate, interceptor } = pausedAt(at);
      const copies: string[] = [];
      const noting: Interceptor = (call) => {
        if (call.name === 'objects.copy') copies.push(call.args[1] as string);
        return interceptor(call);
      };
      const slow = codeOf(completeUpload(harness.process(noting), harness.caller, 'k', uploadId, {}));
      await harness.clock.advance(1);
      if (!gate.reached) return expect(at).to.be.greaterThan(5);
      await expectCode('OK', remove(harness, uploadId));
      gate.open();
      await slow;
      await sweep(harness);
      for (const key of [stagingKey, ...copies])
        expect(await storedBytes(harness, key), `${key} at call ${at}`).to.equal(null);
    }
  });

  it('takes nothing of another App', async () => {
    const { harness, uploadId, objectKey } = await completed();
    const stranger = await harness.newCaller(0);
    const unknown = harness.ports.ids.uuid();
    for (const id of [uploadId, unknown, 'x'])
      await expectCode('NOT_FOUND', deleteUpload(harness.context, stranger, id));
    expect(await storedBytes(harness, objectKey)).not.to.equal(null);
  });
});

function pausedAt(at: number): { readonly gate: Gate; readonly interceptor: Interceptor } {
  const gate = new Gate();
  let calls = 0;
  const interceptor: Interceptor = async (call) => {
    if (calls++ === at) await gate.wait();
    return call.proceed();
  };
  return { gate, interceptor };
}

// Goal: bytes sent to a target are removed soon after it has expired, whether or not the upload was completed, and no
// completion that began in time is affected.
// Method: the clock is moved to just before and just after; a completion pauses at each of its calls during the sweep.

async function pass(harness: CoreHarness): Promise<void> {
  await harness.clock.run(new Recovery(harness.context).pass());
}

function sweepMs({ settings }: CoreHarness): number {
  return settings.uploadTargetMs + settings.claimLeaseMs + settings.recoveryGraceMs;
}

async function recordOf(harness: CoreHarness, uploadId: string): Promise<Upload> {
  return (await harness.ports.uploads.read(uploadId)) as Upload;
}

describe('a target that has expired', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('is swept once no completion can be running, and not before', async () => {
    const prepared = await prepareAndSend(harness, BYTES);
    const { uploadId, stagingKey } = prepared.upload;
    harness.clock.jump(sweepMs(harness) - 1);
    await pass(harness);
    expect(await storedBytes(harness, stagingKey)).not.to.equal(null);
    harness.clock.jump(1);
    await pass(harness);
    expect(await storedBytes(harness, stagingKey)).to.equal(null);
    expect(await recordOf(harness, uploadId)).to.include({ status: 'prepared', stagingRemovedAt: harness.clock.now() });
    await expectCode('UPLOAD_URL_EXPIRED', complete(harness, uploadId));
    harness.clock.jump(harness.settings.uploadRetentionMs - sweepMs(harness));
    await pass(harness);
    expect(await harness.ports.uploads.read(uploadId)).to.include({ kind: 'expired' });
  });

  it('cannot be completed after the sweep though the clock was set back', async () => {
    const { upload } = await prepare(harness, BYTES);
    harness.clock.jump(sweepMs(harness));
    await pass(harness);
    harness.clock.jump(-sweepMs(harness));
    await expectCode('UPLOAD_URL_EXPIRED', complete(harness, upload.uploadId));
  });

  it('removes bytes sent again after the completion, used or not, and keeps the completed ones', async () => {
    for (const isUsed of [false, true]) {
      const prepared = await prepareAndSend(harness, BYTES);
      const { upload } = await complete(harness, prepared.upload.uploadId);
      expect(send(harness, prepared, BYTES), 'the store does not know that it was completed').to.equal(200);
      if (isUsed) await harness.post('k', harness.body({}, { reference_upload_ids: [upload.uploadId] }));
      harness.clock.jump(sweepMs(harness));
      await pass(harness);
      expect(await storedBytes(harness, upload.stagingKey)).to.equal(null);
      expect(await storedBytes(harness, upload.objectKey)).not.to.equal(null);
      const { status, dueAt } = await recordOf(harness, upload.uploadId);
      expect([status, dueAt - harness.clock.now() > harness.settings.uploadRetentionMs / 2]).to.deep.equal([
        'ready',
        true,
      ]);
    }
  });

  it('leaves nothing of a copy whose completion was interrupted', async () => {
    const prepared = await prepareAndSend(harness, BYTES);
    const { uploadId } = prepared.upload;
    void completeUpload(
      harness.process(async (call) => {
        const answer = await call.proceed();
        return call.name === 'objects.copy' ? new Promise(() => undefined) : answer;
      }),
      harness.caller,
      'k',
      uploadId,
      {},
    );
    await harness.clock.advance(1);
    const { objectKey } = await recordOf(harness, uploadId);
    expect(await storedBytes(harness, objectKey)).not.to.equal(null);
    harness.clock.jump(sweepMs(harness));
    await pass(harness);
    expect(await storedBytes(harness, objectKey)).to.equal(null);
  });

  it('never leaves a ready upload without its bytes, wherever a completion pauses during the sweep', async () => {
    for (let at = 0; ; at += 1) {
      harness = await CoreHarness.open();
      const prepared = await prepareAndSend(harness, BYTES);
      const { uploadId } = prepared.upload;
      harness.clock.jump(harness.settings.uploadTargetMs);
      const gate = new Gate();
      let calls = 0;
      const slow = codeOf(
        completeUpload(
          harness.process(async (call) => {
            if (calls++ === at) await gate.wait();
            return call.proceed();
          }),
          harness.caller,
          'k',
          uploadId,
          {},
        ),
      );
      await harness.clock.advance(1);
      if (!gate.reached) {
        expect([await slow, at > 5]).to.deep.equal(['OK', true]);
        return;
      }
      harness.clock.jump(sweepMs(harness));
      await pass(harness);
      gate.open();
      const code = await slow;
      const record = await recordOf(harness, uploadId);
      expect(code === 'OK', `${code} at call ${at}`).to.equal(record.status === 'ready');
      if (record.status === 'ready')
        expect(await storedBytes(harness, record.objectKey), `call ${at}`).not.to.equal(null);
      else expect(await storedBytes(harness, prepared.upload.stagingKey)).to.equal(null);
    }
  });

  it('is not swept for another process that was faster', async () => {
    const prepared = await prepare(harness, BYTES);
    harness.clock.jump(sweepMs(harness));
    await Promise.all([pass(harness), pass(harness), pass(harness)]);
    const { version } = await recordOf(harness, prepared.upload.uploadId);
    expect(version).to.equal(2);
  });
});

describe('takesBytes', () => {
  it('is true for the target of an upload that can be completed, and for no other key', async () => {
    const harness = await CoreHarness.open();
    const [open, done, swept] = [
      await prepare(harness, BYTES),
      await prepare(harness, BYTES),
      await prepare(harness, BYTES),
    ];
    await smuggle(harness, done, BYTES);
    await complete(harness, done.upload.uploadId);
    const takes = (key: string) => takesBytes(harness.ports, key);
    expect(await takes(open.upload.stagingKey)).to.equal(true);
    expect(await takes(done.upload.stagingKey)).to.equal(false);
    for (const key of [
      `staging/${open.upload.uploadId}/other`,
      `staging/${harness.ports.ids.uuid()}/x`,
      'staging/x/y',
      'media/x',
      '',
      open.upload.stagingKey.replace('staging', 'media'),
    ]) {
      expect(await takes(key), key).to.equal(false);
    }
    harness.clock.jump(sweepMs(harness));
    await pass(harness);
    expect(await takes(swept.upload.stagingKey)).to.equal(false);
  });

  it('does not keep a generation that refers to the upload from marking it as used, when both happen at once', async () => {
    const harness = await CoreHarness.open();
    const prepared = await prepareAndSend(harness, BYTES);
    const { uploadId } = prepared.upload;
    await complete(harness, uploadId);
    harness.clock.jump(harness.settings.uploadRetentionMs - 1_000);
    const gate = new Gate();
    let marks = 0;
    const slow = harness.process(async (call) => {
      if (call.name === 'uploads.replace' && (marks += 1) === 1) await gate.wait();
      return call.proceed();
    });
    const body = { ...harness.body(), reference_upload_ids: [uploadId] };
    const created = harness.post('k', body, { context: slow });
    await harness.clock.advance(0);
    expect(gate.reached).to.equal(true);
    await pass(harness);
    expect(await recordOf(harness, uploadId), 'swept since it was read').to.have.property('stagingRemovedAt');
    gate.open();
    await created;
    expect((await recordOf(harness, uploadId)).lastUsedAt).to.equal(harness.clock.now());
    harness.clock.jump(2_000);
    await pass(harness);
    expect(await recordOf(harness, uploadId)).to.include({ status: 'ready' });
  });
});
