// Goal: a deleted upload leaves no bytes, wherever the deletion is cut; of a deletion and a create one wins, never both.
// Method: the store fails before and after each write; a create and a completion pause at each of their calls meanwhile.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { completeUpload } from '../../../core/uploads/complete-upload.js';
import { deleteUpload, getUpload } from '../../../core/uploads/manage-uploads.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { complete, prepare, send, smuggle, storedBytes } from './upload-steps.js';

const BYTES = plainImage();

interface Completed {
  readonly harness: CoreHarness;
  readonly uploadId: string;
  readonly objectKey: string;
  readonly stagingKey: string;
}

async function completed(): Promise<Completed> {
  const harness = await CoreHarness.open();
  const prepared = await prepare(harness, BYTES, {}, 'p');
  send(harness, prepared, BYTES);
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
  createGeneration(context, harness.caller, 'k', harness.body({}, { reference_upload_ids: [uploadId] }));

describe('the deletion of an upload', () => {
  it('removes its bytes at once, and its record once its target has expired', async () => {
    const { harness, uploadId, objectKey } = await completed();
    await remove(harness, uploadId);
    expect(await storedBytes(harness, objectKey)).to.equal(null);
    expect(await codeOf(getUpload(harness.context, harness.caller, uploadId))).to.equal('NOT_FOUND');
    expect(await codeOf(create(harness, uploadId))).to.equal('FIELD_INVALID');
    expect(await codeOf(complete(harness, uploadId))).to.equal('UPLOAD_URL_EXPIRED');
    expect(await codeOf(prepare(harness, BYTES, {}, 'p'))).to.equal('IDEMPOTENCY_REPLAY_EXPIRED');
    await sweep(harness);
    expect(await harness.ports.uploads.read(uploadId)).to.include({ kind: 'expired' });
    expect(await codeOf(remove(harness, uploadId))).to.equal('NOT_FOUND');
    expect(await codeOf(prepare(harness, BYTES, {}, 'p'))).to.equal('IDEMPOTENCY_REPLAY_EXPIRED');
  });

  it('is refused for one that a generation was created with', async () => {
    const { harness, uploadId, objectKey } = await completed();
    await harness.clock.run(create(harness, uploadId));
    expect(await codeOf(remove(harness, uploadId))).to.equal('CONFLICT');
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
      const prepared = await prepare(harness, BYTES);
      send(harness, prepared, BYTES);
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
      expect(await codeOf(remove(harness, uploadId))).to.equal('OK');
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
      expect(await codeOf(deleteUpload(harness.context, stranger, id))).to.equal('NOT_FOUND');
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
