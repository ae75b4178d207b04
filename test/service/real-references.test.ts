// Goal: a picture with other data behind it is stored and checked as it was declared, and a provider receives the picture alone.
// Method: the use cases of core over the real probe and a provider that reads the references of its submission.
import { expect } from 'chai';
import { createGeneration } from '../../core/generation/create-generation.js';
import type { ProviderCall, Submission, SubmitAnswer } from '../../core/ports/provider.js';
import { complete, prepare, send, storedBytes } from '../core/uploads/upload-steps.js';
import { collected } from '../fixtures/byte-streams.js';
import { image } from '../fixtures/images.js';
import { MEDIA_PROBE } from '../fixtures/media-probe.js';
import { codeOf } from '../fixtures/memory-stores.js';
import { imageModel } from '../fixtures/models.js';
import { exifSegment, inserted, oddJpeg, orientationExif } from '../fixtures/real-images.js';
import { oneProvider, ScriptedProvider } from '../fixtures/scripted-provider.js';
import { sha256Of } from '../fixtures/sha256.js';
import { mp4 } from '../fixtures/videos.js';
import { CoreHarness, CoreWorker, untilSettled } from '../harness/core-harness.js';

class ReadingProvider extends ScriptedProvider {
  readonly received: { readonly byteSize: number; readonly bytes: Uint8Array }[] = [];

  override async submit(submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
    for (const reference of submission.references)
      this.received.push({ byteSize: reference.byteSize, bytes: await collected(await reference.open()) });
    return super.submit(submission, call);
  }
}

async function opened() {
  const provider = new ReadingProvider();
  const harness = await CoreHarness.open({
    models: [imageModel({ maxAttempts: 1 })],
    ports: { providers: oneProvider(provider), mediaProbe: MEDIA_PROBE },
  });
  return { harness, provider };
}

async function uploaded(harness: CoreHarness, bytes: Uint8Array, mediaType: string) {
  const prepared = await prepare(harness, bytes, { media_type: mediaType, sha256: sha256Of(bytes) });
  send(harness, prepared, bytes);
  return (await complete(harness, prepared.upload.uploadId)).upload;
}

describe('a reference with data behind its picture', () => {
  const pictures: Readonly<
    Record<string, () => Promise<readonly [mediaType: string, picture: Uint8Array, more: Uint8Array]>>
  > = {
    'a photo with a second picture': async () => [
      'image/jpeg',
      await image('jpeg', 64, 48),
      await image('jpeg', 90, 70),
    ],
    'a photo with a video': async () => ['image/jpeg', await image('jpeg', 64, 48), await mp4()],
    'a PNG with the end of an older one': async () => [
      'image/png',
      await image('png'),
      (await image('png')).subarray(-60),
    ],
    'a WebP with a zero': async () => ['image/webp', await image('webp'), new Uint8Array(1)],
  };
  for (const [what, made] of Object.entries(pictures))
    it(`is stored as declared, and sent without that data: ${what}`, async () => {
      const { harness, provider } = await opened();
      const [mediaType, picture, more] = await made();
      const bytes = Buffer.concat([picture, more]);
      const upload = await uploaded(harness, bytes, mediaType);
      expect(upload.byteSize).to.equal(bytes.length);
      expect(upload.ready).to.include({ sha256: sha256Of(bytes), contentBytes: picture.byteLength });
      expect(sha256Of((await storedBytes(harness, upload.objectKey))!)).to.equal(sha256Of(bytes));
      await CoreWorker.start(harness, 'worker');
      const body = harness.body({}, { reference_upload_ids: [upload.uploadId] });
      const { generation } = await createGeneration(harness.context, harness.caller, 'k', body);
      expect(generation.references[0], 'the release before reads the whole object').to.include({
        byteSize: bytes.length,
        sha256: sha256Of(bytes),
        contentBytes: picture.byteLength,
      });
      await untilSettled(harness, generation.generationId);
      expect(provider.received.map(({ byteSize }) => byteSize)).to.deep.equal([picture.byteLength]);
      expect(sha256Of(provider.received[0]!.bytes)).to.equal(sha256Of(picture));
    });

  it('has the sides that a browser shows, and says when it has transparent areas', async () => {
    const { harness } = await opened();
    const turned = inserted(await image('jpeg', 64, 48), 2, exifSegment(orientationExif(6)));
    expect((await uploaded(harness, turned, 'image/jpeg')).ready).to.include({ widthPx: 48, heightPx: 64 });
    const clear = Buffer.from('5249464614000000574542505650384c080000002f3fc00f10888808', 'hex');
    expect((await uploaded(harness, clear, 'image/webp')).ready).to.include({ isMasked: true, widthPx: 64 });
    expect((await uploaded(harness, await image('png'), 'image/png')).ready).to.not.have.any.keys(
      'isMasked',
      'contentBytes',
    );
  });

  it('is refused at completion where no later step could decode it', async () => {
    const { harness } = await opened();
    for (const odd of [oddJpeg({ frame: 0xc3, bits: 16 }), oddJpeg({ frame: 0xc1, bits: 12 })])
      expect(await codeOf(uploaded(harness, odd, 'image/jpeg'))).to.equal('FIELD_INVALID');
  });
});
