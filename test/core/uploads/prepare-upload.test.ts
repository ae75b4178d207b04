// Goal: a prepared upload has one target for exactly what was declared, once per key; invalid requests are refused in
// order.
// Method: the use case on memory adapters; targets are used as a client would; every store call is interrupted once.
import { expect } from 'chai';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { Gate } from '../../fixtures/intercepted.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { cutting } from '../../harness/cut-processes.js';
import { complete, prepare, prepareBody, send } from './upload-steps.js';

const BYTES = plainImage();

describe('prepareUpload', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('signs a target for the declared bytes and no others, until it expires', async () => {
    const prepared = await prepare(harness, BYTES, { sha256: sha256Of(BYTES) });
    expect(prepared.upload).to.include({
      status: 'prepared',
      expiresAt: harness.clock.now() + harness.settings.uploadTargetMs,
    });
    expect(send(harness, prepared, plainImage(65, 64))).to.equal(400);
    expect(send(harness, prepared, BYTES.slice(1))).to.equal(400);
    expect(send(harness, prepared, BYTES)).to.equal(200);
    harness.clock.jump(harness.settings.uploadTargetMs);
    expect(send(harness, prepared, BYTES)).to.equal(403);
  });

  it('answers a repeated request with the same upload and a target that ends at the same time', async () => {
    const first = await prepare(harness, BYTES, {}, 'k');
    harness.clock.jump(1_000);
    const again = await prepare(harness, BYTES, {}, 'k');
    expect([again.replayed, again.upload]).to.deep.equal([true, first.upload]);
    expect(send(harness, again, BYTES)).to.equal(200);
    expect(await codeOf(prepare(harness, BYTES, { filename: 'other.png' }, 'k'))).to.equal(
      'IDEMPOTENCY_PAYLOAD_MISMATCH',
    );
  });

  it('returns no target again once it has expired, whether or not the upload was completed', async () => {
    for (const isCompleted of [false, true]) {
      const prepared = await prepare(harness, BYTES, {}, `k-${isCompleted}`);
      send(harness, prepared, BYTES);
      if (isCompleted) await complete(harness, prepared.upload.uploadId);
      harness.clock.jump(harness.settings.uploadTargetMs - 1);
      const again = await prepare(harness, BYTES, {}, `k-${isCompleted}`);
      expect([again.replayed, again.upload.uploadId]).to.deep.equal([true, prepared.upload.uploadId]);
      harness.clock.jump(1);
      expect(await codeOf(prepare(harness, BYTES, {}, `k-${isCompleted}`))).to.equal('IDEMPOTENCY_REPLAY_EXPIRED');
      expect(await codeOf(prepare(harness, BYTES, { filename: 'other.png' }, `k-${isCompleted}`))).to.equal(
        'IDEMPOTENCY_PAYLOAD_MISMATCH',
      );
    }
  });

  it('creates one upload for many concurrent duplicates', async () => {
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(prepare(harness, BYTES, {}, 'k'))));
    expect(codes.toSorted()).to.deep.equal([...Array.from({ length: 9 }, () => 'IDEMPOTENCY_IN_PROGRESS'), 'OK']);
  });

  it('refuses in order: missing, invalid, too large, not allowed', async () => {
    const { maxUploadBytes } = harness.settings;
    const cases = [
      [{ filename: 'x', byte_size: 0, media_type: 'text/html' }, 'FIELD_REQUIRED'],
      [prepareBody(BYTES, { byte_size: maxUploadBytes + 1, media_type: 'text/html', role: 'x' }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { byte_size: maxUploadBytes + 1, media_type: 'text/html' }), 'UPLOAD_FILE_TOO_LARGE'],
      [prepareBody(BYTES, { byte_size: maxUploadBytes, media_type: 'text/html' }), 'UPLOAD_TYPE_NOT_ALLOWED'],
      [prepareBody(BYTES, { media_type: 'image/svg+xml' }), 'UPLOAD_TYPE_NOT_ALLOWED'],
      [prepareBody(BYTES, { byte_size: 1_000_000 }), 'OK'],
      [prepareBody(BYTES, { byte_size: 0 }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { byte_size: 1.5 }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { byte_size: 2 ** 53 }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { filename: '' }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { filename: '../x.png' }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { filename: 'a\\b.png' }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { filename: 'a\n.png' }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { filename: 'häuser 🏠.png' }), 'OK'],
      [prepareBody(BYTES, { sha256: 'x'.repeat(64) }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { sha256: sha256Of(BYTES).toUpperCase() }), 'OK'],
      [prepareBody(BYTES, { sha256: `${sha256Of(BYTES)}\n` }), 'FIELD_INVALID'],
      [prepareBody(BYTES, { upload_url: 'https://example.com' }), 'FIELD_INVALID'],
    ] as const;
    for (const [body, code] of cases) {
      expect(
        await codeOf(prepareUpload(harness.context, harness.caller, harness.ports.ids.uuid(), body)),
        JSON.stringify(body),
      ).to.equal(code);
    }
  });

  it('creates nothing when it resumes after its key was taken over', async () => {
    const gate = new Gate();
    let lateId = '';
    const slow = codeOf(
      prepareUpload(
        harness.process(async (call) => {
          if (call.name !== 'uploads.insert') return call.proceed();
          lateId = (call.args[0] as { uploadId: string }).uploadId;
          await gate.wait();
          return call.proceed();
        }),
        harness.caller,
        'k',
        prepareBody(BYTES),
      ),
    );
    await harness.clock.advance(harness.settings.claimLeaseMs);
    expect(gate.reached).to.equal(true);
    const { upload } = await prepare(harness, BYTES, {}, 'k');
    gate.open();
    expect(await slow).to.equal('IDEMPOTENCY_IN_PROGRESS');
    expect(lateId).not.to.equal(upload.uploadId);
    expect(await harness.ports.uploads.read(lateId), 'its id was ruled out').to.have.property('kind', 'void');
    expect(await prepare(harness, BYTES, {}, 'k')).to.deep.include({ replayed: true, upload });
  });

  it('ends with one upload wherever it is interrupted, when the key is retried', async () => {
    for (const cut of ['before', 'after'] as const) {
      for (let index = 0; index < 4; index += 1) {
        const cutHarness = await CoreHarness.open();
        const broken = cutHarness.process(cutting(index, cut, { dies: false }));
        await prepareUpload(broken, cutHarness.caller, 'k', prepareBody(BYTES)).catch(() => undefined);
        cutHarness.clock.jump(cutHarness.settings.claimLeaseMs);
        const prepared = await prepare(cutHarness, BYTES, {}, 'k');
        expect(send(cutHarness, prepared, BYTES)).to.equal(200);
        expect((await prepare(cutHarness, BYTES, {}, 'k')).upload.uploadId).to.equal(prepared.upload.uploadId);
      }
    }
  });
});
