// Goal: what the service keeps for an App's uploads is bounded, in number, in bytes and in uploads that are never
// completed.
// Method: each bound is filled to the last upload it allows; then what frees it is done, and one more is prepared.
import { expect } from 'chai';
import { type ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { Recovery } from '../../../core/recovery/recover.js';
import type { Settings } from '../../../core/settings.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { complete, prepare, prepareBody, send } from './upload-steps.js';

const BYTES = plainImage();

async function refusalOf(work: Promise<unknown>): Promise<ServiceError> {
  return work.then(
    () => {
      throw new Error('It was not refused.');
    },
    (error: unknown) => error as ServiceError,
  );
}

async function open(settings: Partial<Settings>): Promise<CoreHarness> {
  return CoreHarness.open({ settings });
}

async function afterTargets(harness: CoreHarness): Promise<void> {
  harness.clock.jump(
    harness.settings.uploadTargetMs + harness.settings.claimLeaseMs + harness.settings.recoveryGraceMs,
  );
  await harness.clock.run(new Recovery(harness.context).pass());
}

describe('the bounds of uploads', () => {
  it('refuse one more unfinished upload with QUEUE_FULL, say why and when to come back, and free the key', async () => {
    const harness = await open({ maxUnfinishedUploadsPerApp: 2 });
    const [first] = [await prepare(harness, BYTES), await prepare(harness, BYTES)];
    const refusal = await refusalOf(prepare(harness, BYTES, {}, 'k'));
    expect(refusal).to.include({ code: 'QUEUE_FULL' });
    expect(refusal.details).to.deep.equal({ retryAfterMs: 60_000, bound: 'unfinished_uploads' });
    expect(refusal.message).to.equal(
      'The App has 2 unfinished uploads, and may have 2; complete some, or wait until their targets have expired.',
    );
    send(harness, first, BYTES);
    await complete(harness, first.upload.uploadId);
    expect((await prepare(harness, BYTES, {}, 'k')).replayed, 'the key was free').to.equal(false);
  });

  it('count unfinished uploads until the bytes at their expired targets are removed', async () => {
    const harness = await open({ maxUnfinishedUploadsPerApp: 1 });
    const { upload } = await prepare(harness, BYTES);
    harness.clock.jump(harness.settings.uploadTargetMs + 1);
    expect(await codeOf(prepare(harness, BYTES)), 'the bytes may still be there').to.equal('QUEUE_FULL');
    await afterTargets(harness);
    expect(await codeOf(prepare(harness, BYTES))).to.equal('OK');
    expect(await codeOf(complete(harness, upload.uploadId))).to.equal('UPLOAD_URL_EXPIRED');
  });

  it('refuse declared bytes beyond what an App may store, and accept what fits exactly', async () => {
    const harness = await open({ maxStoredUploadBytesPerApp: 1_000 });
    await prepare(harness, BYTES, { byte_size: 600 });
    const refusal = await refusalOf(prepare(harness, BYTES, { byte_size: 401 }));
    expect([refusal.code, refusal.details.bound]).to.deep.equal(['QUEUE_FULL', 'stored_upload_bytes']);
    expect(await codeOf(prepare(harness, BYTES, { byte_size: 400 }))).to.equal('OK');
    await afterTargets(harness);
    expect(await codeOf(prepare(harness, BYTES, { byte_size: 1_000 })), 'nothing of the others is kept').to.equal('OK');
  });

  it('count the bytes of completed uploads until their retention is over', async () => {
    const harness = await open({ maxStoredUploadBytesPerApp: BYTES.byteLength });
    const prepared = await prepare(harness, BYTES);
    send(harness, prepared, BYTES);
    await complete(harness, prepared.upload.uploadId);
    await afterTargets(harness);
    expect(await codeOf(prepare(harness, BYTES, { byte_size: 1 }))).to.equal('QUEUE_FULL');
    harness.clock.jump(harness.settings.uploadRetentionMs);
    await harness.clock.run(new Recovery(harness.context).pass());
    expect(await codeOf(prepare(harness, BYTES))).to.equal('OK');
  });

  it('refuse more uploads than an App may have, however small, including those with only a record left', async () => {
    const harness = await open({ maxStoredUploadsPerApp: 2 });
    await prepare(harness, BYTES, { byte_size: 1 });
    await prepare(harness, BYTES, { byte_size: 1 });
    await afterTargets(harness);
    const refusal = await refusalOf(prepare(harness, BYTES, { byte_size: 1 }));
    expect([refusal.code, refusal.details.bound]).to.deep.equal(['QUEUE_FULL', 'stored_uploads']);
    harness.clock.jump(harness.settings.uploadRetentionMs);
    await harness.clock.run(new Recovery(harness.context).pass());
    expect(await codeOf(prepare(harness, BYTES))).to.equal('OK');
  });

  it('apply to one App: another one of the same account has its own', async () => {
    const harness = await open({ maxUnfinishedUploadsPerApp: 1 });
    await prepare(harness, BYTES);
    const other = { ...harness.caller, appId: harness.ports.ids.uuid() };
    expect(await codeOf(prepareUpload(harness.context, other, 'k', prepareBody(BYTES)))).to.equal('OK');
    expect(await codeOf(prepareUpload(harness.context, other, 'l', prepareBody(BYTES)))).to.equal('QUEUE_FULL');
  });

  it('do not block the replay of an earlier prepare of a full App', async () => {
    const harness = await open({ maxUnfinishedUploadsPerApp: 1 });
    const { upload } = await prepare(harness, BYTES, {}, 'k');
    expect(await prepare(harness, BYTES, {}, 'k')).to.deep.include({ upload, replayed: true });
  });

  it('are exceeded by no more than the concurrent requests', async () => {
    const harness = await open({ maxUnfinishedUploadsPerApp: 3 });
    const codes = await Promise.all(Array.from({ length: 8 }, () => codeOf(prepare(harness, BYTES))));
    expect(codes.filter((code) => code === 'OK').length).to.be.within(3, 8);
    expect(await codeOf(prepare(harness, BYTES))).to.equal('QUEUE_FULL');
  });

  it('free the key when the store cannot compute the sum', async () => {
    const harness = await open({});
    const away = harness.process((call) =>
      call.name === 'uploads.usage' ? Promise.reject(new StoreUnavailable('The line broke.')) : call.proceed(),
    );
    const failed = await refusalOf(prepareUpload(away, harness.caller, 'k', prepareBody(BYTES)));
    expect(failed).to.be.instanceOf(StoreUnavailable);
    expect((await prepare(harness, BYTES, {}, 'k')).replayed).to.equal(false);
  });
});
