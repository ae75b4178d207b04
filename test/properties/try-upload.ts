import { expect } from 'chai';
import type { Caller } from '../../core/access/credential.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { completeUpload } from '../../core/uploads/complete-upload.js';
import { prepareUpload } from '../../core/uploads/prepare-upload.js';
import { collected, streamOf } from '../fixtures/byte-streams.js';
import { plainImage } from '../fixtures/plain-media.js';
import { sha256Of } from '../fixtures/sha256.js';
import { answerOrCode } from './steps.js';
import type { StoreHarness } from './store-harness.js';

/** Bytes become a reference only if they match the declaration, and only for the sender; then they stay. */
export async function tryUpload(
  { context, clock }: StoreHarness,
  caller: Caller,
  stranger: Caller,
  key: string,
  honest: boolean,
): Promise<void> {
  const bytes = plainImage(64, 64, honest ? 'image/png' : 'image/jpeg');
  const sha256 = sha256Of(bytes);
  const body = {
    filename: 'a.png',
    media_type: 'image/png',
    byte_size: bytes.byteLength,
    sha256,
    role: 'reference_image',
  };
  const { upload } = await clock.run(prepareUpload(context, caller, key, body));
  const put = (content: Uint8Array) =>
    context.objects.write(upload.stagingKey, streamOf(content), { mediaType: 'image/png', maxBytes: 10_000 });
  await put(bytes);
  const answer = await clock.run(answerOrCode(completeUpload(context, caller, key, upload.uploadId, {})));
  if (!honest) {
    expect(answer).to.equal('FIELD_INVALID');
    return;
  }
  if (typeof answer === 'string') throw new Error(`An honest upload answered ${answer}.`);
  expect(answer.upload).to.nested.include({ 'status': 'ready', 'byteSize': bytes.byteLength, 'ready.sha256': sha256 });
  await put(plainImage(64, 64, 'image/png', 'of somebody else'));
  const kept = await context.objects.read(answer.upload.objectKey ?? '');
  expect(kept && Buffer.from(await collected(kept)).equals(bytes), 'the bytes stay').to.equal(true);
  const stolen = {
    model_key: 'plain-image',
    operation: 'image_generation',
    prompt: 'x',
    reference_upload_ids: [upload.uploadId],
  };
  expect(await clock.run(answerOrCode(createGeneration(context, stranger, key, stolen)))).to.equal('FIELD_INVALID');
}
