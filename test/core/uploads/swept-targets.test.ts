// Goal: bytes sent to a target go soon after it has expired, completed or not, and no completion that began in time loses by it.
// Method: the clock is moved to just before and just after; a completion sleeps at each of its calls while the sweep passes.
import { expect } from 'chai';
import { Recovery } from '../../../core/recovery/recover.js';
import { takesBytes } from '../../../core/uploads/takes-bytes.js';
import type { Upload } from '../../../core/uploads/upload.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { completeUpload } from '../../../core/uploads/complete-upload.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import { Gate } from '../../fixtures/intercepted.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { complete, prepare, send, smuggle, storedBytes } from './upload-steps.js';

const BYTES = plainImage();

async function pass(world: CoreWorld): Promise<void> {
  await world.clock.run(new Recovery(world.context).pass());
}

function sweepMs({ settings }: CoreWorld): number {
  return settings.uploadTargetMs + settings.claimLeaseMs + settings.recoveryGraceMs;
}

async function recordOf(world: CoreWorld, uploadId: string): Promise<Upload> {
  return await world.ports.uploads.read(uploadId) as Upload;
}

describe('a target that has expired', () => {
  let world: CoreWorld;
  beforeEach(async () => { world = await CoreWorld.open(); });

  it('is swept once no completion can be under way, and not before', async () => {
    const prepared = await prepare(world, BYTES);
    send(world, prepared, BYTES);
    const { uploadId, stagingKey } = prepared.upload;
    world.clock.jump(sweepMs(world) - 1);
    await pass(world);
    expect(await storedBytes(world, stagingKey)).not.to.equal(null);
    world.clock.jump(1);
    await pass(world);
    expect(await storedBytes(world, stagingKey)).to.equal(null);
    expect(await recordOf(world, uploadId)).to.include({ status: 'prepared', stagingRemovedAt: world.clock.now() });
    expect(await codeOf(complete(world, uploadId))).to.equal('UPLOAD_URL_EXPIRED');
    world.clock.jump(world.settings.uploadRetentionMs - sweepMs(world));
    await pass(world);
    expect(await world.ports.uploads.read(uploadId)).to.include({ kind: 'expired' });
  });

  it('cannot be completed after the sweep though the clock was set back', async () => {
    const { upload } = await prepare(world, BYTES);
    world.clock.jump(sweepMs(world));
    await pass(world);
    world.clock.jump(-sweepMs(world));
    expect(await codeOf(complete(world, upload.uploadId))).to.equal('UPLOAD_URL_EXPIRED');
  });

  it('leaves nothing of what was sent again after the completion, used or not, and keeps what was completed', async () => {
    for (const isUsed of [false, true]) {
      const prepared = await prepare(world, BYTES);
      send(world, prepared, BYTES);
      const { upload } = await complete(world, prepared.upload.uploadId);
      expect(send(world, prepared, BYTES), 'the store does not know that it was completed').to.equal(200);
      if (isUsed) await createGeneration(world.context, world.caller, 'k', world.body({}, { reference_upload_ids: [upload.uploadId] }));
      world.clock.jump(sweepMs(world));
      await pass(world);
      expect(await storedBytes(world, upload.stagingKey)).to.equal(null);
      expect(await storedBytes(world, upload.objectKey)).not.to.equal(null);
      const { status, dueAt } = await recordOf(world, upload.uploadId);
      expect([status, dueAt - world.clock.now() > world.settings.uploadRetentionMs / 2]).to.deep.equal(['ready', true]);
    }
  });

  it('leaves nothing of a copy whose completion was cut', async () => {
    const prepared = await prepare(world, BYTES);
    send(world, prepared, BYTES);
    const { uploadId } = prepared.upload;
    void completeUpload(world.process(async (call) => {
      const answer = await call.proceed();
      return call.name === 'objects.copy' ? new Promise(() => undefined) : answer;
    }), world.caller, 'k', uploadId, {});
    await world.clock.advance(1);
    const { objectKey } = await recordOf(world, uploadId);
    expect(await storedBytes(world, objectKey)).not.to.equal(null);
    world.clock.jump(sweepMs(world));
    await pass(world);
    expect(await storedBytes(world, objectKey)).to.equal(null);
  });

  it('never leaves a ready upload without its bytes, wherever a completion sleeps through the sweep', async () => {
    for (let at = 0; ; at += 1) {
      world = await CoreWorld.open();
      const prepared = await prepare(world, BYTES);
      send(world, prepared, BYTES);
      const { uploadId } = prepared.upload;
      world.clock.jump(world.settings.uploadTargetMs);
      const gate = new Gate();
      let calls = 0;
      const slow = codeOf(completeUpload(world.process(async (call) => {
        if (calls++ === at) await gate.wait();
        return call.proceed();
      }), world.caller, 'k', uploadId, {}));
      await world.clock.advance(1);
      if (!gate.reached) {
        expect([await slow, at > 5]).to.deep.equal(['OK', true]);
        return;
      }
      world.clock.jump(sweepMs(world));
      await pass(world);
      gate.open();
      const code = await slow;
      const record = await recordOf(world, uploadId);
      expect(code === 'OK', `${code} at call ${at}`).to.equal(record.status === 'ready');
      if (record.status === 'ready') expect(await storedBytes(world, record.objectKey), `call ${at}`).not.to.equal(null);
      else expect(await storedBytes(world, prepared.upload.stagingKey)).to.equal(null);
    }
  });

  it('is not swept for another process that was faster', async () => {
    const prepared = await prepare(world, BYTES);
    world.clock.jump(sweepMs(world));
    await Promise.all([pass(world), pass(world), pass(world)]);
    const { version } = await recordOf(world, prepared.upload.uploadId);
    expect(version).to.equal(2);
  });
});

describe('takesBytes', () => {
  it('is so for the target of an upload that can be completed, and for no other key', async () => {
    const world = await CoreWorld.open();
    const [open, done, swept] = [await prepare(world, BYTES), await prepare(world, BYTES), await prepare(world, BYTES)];
    await smuggle(world, done, BYTES);
    await complete(world, done.upload.uploadId);
    const takes = (key: string) => takesBytes(world.ports, key);
    expect(await takes(open.upload.stagingKey)).to.equal(true);
    expect(await takes(done.upload.stagingKey)).to.equal(false);
    for (const key of [`staging/${open.upload.uploadId}/other`, `staging/${world.ports.ids.uuid()}/x`, 'staging/x/y', 'media/x', '', open.upload.stagingKey.replace('staging', 'media')]) {
      expect(await takes(key), key).to.equal(false);
    }
    world.clock.jump(sweepMs(world));
    await pass(world);
    expect(await takes(swept.upload.stagingKey)).to.equal(false);
  });

  it('does not keep a generation that refers to the upload from marking it as used, when both happen at once', async () => {
    const world = await CoreWorld.open();
    const prepared = await prepare(world, BYTES);
    send(world, prepared, BYTES);
    const { uploadId } = prepared.upload;
    await complete(world, uploadId);
    world.clock.jump(world.settings.uploadRetentionMs - 1_000);
    const gate = new Gate();
    let marks = 0;
    const slow = world.process(async (call) => {
      if (call.name === 'uploads.replace' && (marks += 1) === 1) await gate.wait();
      return call.proceed();
    });
    const body = { ...world.body(), reference_upload_ids: [uploadId] };
    const created = createGeneration(slow, world.caller, 'k', body);
    await world.clock.advance(0);
    expect(gate.reached).to.equal(true);
    await pass(world);
    expect(await recordOf(world, uploadId), 'swept since it was read').to.have.property('stagingRemovedAt');
    gate.open();
    await created;
    expect((await recordOf(world, uploadId)).lastUsedAt).to.equal(world.clock.now());
    world.clock.jump(2_000);
    await pass(world);
    expect(await recordOf(world, uploadId)).to.include({ status: 'ready' });
  });
});
