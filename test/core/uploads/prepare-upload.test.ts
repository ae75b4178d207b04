// Goal: a prepared upload has one target for exactly what was declared, once per key, and bad requests are refused in order.
// Method: the use case on memory adapters; targets are used as a client would; every store call is cut once.
import { expect } from 'chai';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import { cutting } from '../../fixtures/cut-processes.js';
import { Gate } from '../../fixtures/intercepted.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { complete, prepare, prepareBody, send } from './upload-steps.js';

const BYTES = plainImage();

describe('prepareUpload', () => {
  let world: CoreWorld;
  beforeEach(async () => { world = await CoreWorld.open(); });

  it('signs a target for the declared bytes and no others, until it expires', async () => {
    const prepared = await prepare(world, BYTES, { sha256: sha256Of(BYTES) });
    expect(prepared.upload).to.include({ status: 'prepared', expiresAt: world.clock.now() + world.settings.uploadTargetMs });
    expect(send(world, prepared, plainImage(65, 64))).to.equal(400);
    expect(send(world, prepared, BYTES.slice(1))).to.equal(400);
    expect(send(world, prepared, BYTES)).to.equal(200);
    world.clock.jump(world.settings.uploadTargetMs);
    expect(send(world, prepared, BYTES)).to.equal(403);
  });

  it('answers a repeated request with the same upload and a target that ends at the same time', async () => {
    const first = await prepare(world, BYTES, {}, 'k');
    world.clock.jump(1_000);
    const again = await prepare(world, BYTES, {}, 'k');
    expect([again.replayed, again.upload]).to.deep.equal([true, first.upload]);
    expect(send(world, again, BYTES)).to.equal(200);
    expect(await codeOf(prepare(world, BYTES, { filename: 'other.png' }, 'k'))).to.equal('IDEMPOTENCY_PAYLOAD_MISMATCH');
  });

  it('gives no target again once it has expired, whether or not the upload was completed', async () => {
    for (const isCompleted of [false, true]) {
      const prepared = await prepare(world, BYTES, {}, `k-${isCompleted}`);
      send(world, prepared, BYTES);
      if (isCompleted) await complete(world, prepared.upload.uploadId);
      world.clock.jump(world.settings.uploadTargetMs - 1);
      const again = await prepare(world, BYTES, {}, `k-${isCompleted}`);
      expect([again.replayed, again.upload.uploadId]).to.deep.equal([true, prepared.upload.uploadId]);
      world.clock.jump(1);
      expect(await codeOf(prepare(world, BYTES, {}, `k-${isCompleted}`))).to.equal('IDEMPOTENCY_REPLAY_EXPIRED');
      expect(await codeOf(prepare(world, BYTES, { filename: 'other.png' }, `k-${isCompleted}`))).to.equal('IDEMPOTENCY_PAYLOAD_MISMATCH');
    }
  });

  it('gives one of many twins an upload', async () => {
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(prepare(world, BYTES, {}, 'k'))));
    expect(codes.toSorted()).to.deep.equal([...Array.from({ length: 9 }, () => 'IDEMPOTENCY_IN_PROGRESS'), 'OK']);
  });

  it('refuses in order: missing, invalid, too large, not allowed', async () => {
    const { maxUploadBytes } = world.settings;
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
      expect(await codeOf(prepareUpload(world.context, world.caller, world.ports.ids.uuid(), body)), JSON.stringify(body)).to.equal(code);
    }
  });

  it('makes nothing when it wakes up after its key was taken over', async () => {
    const gate = new Gate();
    let lateId = '';
    const slow = codeOf(prepareUpload(world.process(async (call) => {
      if (call.name !== 'uploads.insert') return call.proceed();
      lateId = (call.args[0] as { uploadId: string }).uploadId;
      await gate.wait();
      return call.proceed();
    }), world.caller, 'k', prepareBody(BYTES)));
    await world.clock.advance(world.settings.claimLeaseMs);
    expect(gate.reached).to.equal(true);
    const { upload } = await prepare(world, BYTES, {}, 'k');
    gate.open();
    expect(await slow).to.equal('IDEMPOTENCY_IN_PROGRESS');
    expect(lateId).not.to.equal(upload.uploadId);
    expect(await world.ports.uploads.read(lateId), 'its id was ruled out').to.have.property('kind', 'void');
    expect(await prepare(world, BYTES, {}, 'k')).to.deep.include({ replayed: true, upload });
  });

  it('ends with one upload wherever it is cut, when the key is tried again', async () => {
    for (const cut of ['before', 'after'] as const) {
      for (let index = 0; index < 4; index += 1) {
        const cutWorld = await CoreWorld.open();
        const broken = cutWorld.process(cutting(index, cut, { dies: false }));
        await prepareUpload(broken, cutWorld.caller, 'k', prepareBody(BYTES)).catch(() => undefined);
        cutWorld.clock.jump(cutWorld.settings.claimLeaseMs);
        const prepared = await prepare(cutWorld, BYTES, {}, 'k');
        expect(send(cutWorld, prepared, BYTES)).to.equal(200);
        expect((await prepare(cutWorld, BYTES, {}, 'k')).upload.uploadId).to.equal(prepared.upload.uploadId);
      }
    }
  });
});
