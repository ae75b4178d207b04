// Goal: two Apps of one account share its credits and nothing else: neither idempotency keys nor uploads.
// Method: the use cases on memory adapters, called by two Apps of one account with the same keys and ids.
import { expect } from 'chai';
import type { Caller } from '../../../core/access/credential.js';
import { createApp } from '../../../core/access/manage.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { complete, prepare, prepareBody, send } from '../uploads/upload-steps.js';

describe('another App of the same account', () => {
  let harness: CoreHarness;
  let sibling: Caller;

  beforeEach(async () => {
    harness = await CoreHarness.open();
    const { accountId } = harness.caller;
    const { appId } = await createApp(harness.context, { accountId, name: 'Sibling' });
    sibling = { ...harness.caller, appId };
  });

  it('may use the same key for its own request, equal or not, and gets its own answer', async () => {
    const one = await createGeneration(harness.context, harness.caller, 'alike', harness.body());
    const other = await createGeneration(harness.context, sibling, 'alike', harness.body());
    expect([one.replayed, other.replayed, other.generation.appId]).to.deep.equal([false, false, sibling.appId]);
    await createGeneration(harness.context, harness.caller, 'unlike', harness.body({ count: 1 }));
    expect(await codeOf(createGeneration(harness.context, sibling, 'unlike', harness.body({ count: 2 })))).to.equal(
      'OK',
    );
    const again = await createGeneration(harness.context, sibling, 'alike', harness.body());
    expect([again.replayed, again.generation.generationId]).to.deep.equal([true, other.generation.generationId]);
    expect((await harness.account()).holds).to.have.property('size', 4);

    const prepared = await prepare(harness, plainImage(), {}, 'k');
    const itsOwn = await prepareUpload(harness.context, sibling, 'k', prepareBody(plainImage()));
    expect([itsOwn.replayed, itsOwn.upload.appId]).to.deep.equal([false, sibling.appId]);
    expect(itsOwn.upload.uploadId).not.to.equal(prepared.upload.uploadId);
  });

  it('cannot use an upload as a reference, and learns no more of it than of one that never existed', async () => {
    const prepared = await prepare(harness, plainImage());
    send(harness, prepared, plainImage());
    const { uploadId } = (await complete(harness, prepared.upload.uploadId)).upload;
    const using = (caller: Caller, id: string) =>
      createGeneration(
        harness.context,
        caller,
        harness.ports.ids.uuid(),
        harness.body({}, { reference_upload_ids: [id] }),
      );
    const refusals = await Promise.all(
      [uploadId, '01900000-0000-7000-8000-00000000ffff'].map((id) =>
        using(sibling, id).then(
          () => 'accepted',
          (error: Error & { readonly code?: string }) => [error.code, error.message],
        ),
      ),
    );
    expect(refusals[0]).to.have.property('0', 'FIELD_INVALID');
    expect(refusals[0]).to.deep.equal(refusals[1]);
    expect((await harness.account()).holds).to.have.property('size', 0);
    expect(await codeOf(using(harness.caller, uploadId))).to.equal('OK');
  });
});
