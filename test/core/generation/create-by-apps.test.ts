// Goal: two Apps of one account share its credits and nothing else: neither idempotency keys nor uploads.
// Method: the use cases on memory adapters, called by two Apps of one account with the same keys and ids.
import { expect } from 'chai';
import type { Caller } from '../../../core/access/credential.js';
import { createApp } from '../../../core/access/manage.js';
import { createGeneration } from '../../../core/generation/create-generation.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { CoreWorld } from '../../fixtures/core-world.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { complete, prepare, prepareBody, send } from '../uploads/upload-steps.js';

describe('another App of the same account', () => {
  let world: CoreWorld;
  let sibling: Caller;

  beforeEach(async () => {
    world = await CoreWorld.open();
    const { accountId } = world.caller;
    const { appId } = await createApp(world.context, { accountId, name: 'Sibling' });
    sibling = { ...world.caller, appId };
  });

  it('may use the same key for a request of its own, alike or not, and is answered with its own', async () => {
    const one = await createGeneration(world.context, world.caller, 'alike', world.body());
    const other = await createGeneration(world.context, sibling, 'alike', world.body());
    expect([one.replayed, other.replayed, other.generation.appId]).to.deep.equal([false, false, sibling.appId]);
    await createGeneration(world.context, world.caller, 'unlike', world.body({ count: 1 }));
    expect(await codeOf(createGeneration(world.context, sibling, 'unlike', world.body({ count: 2 })))).to.equal('OK');
    const again = await createGeneration(world.context, sibling, 'alike', world.body());
    expect([again.replayed, again.generation.generationId]).to.deep.equal([true, other.generation.generationId]);
    expect((await world.account()).holds).to.have.property('size', 4);

    const prepared = await prepare(world, plainImage(), {}, 'k');
    const itsOwn = await prepareUpload(world.context, sibling, 'k', prepareBody(plainImage()));
    expect([itsOwn.replayed, itsOwn.upload.appId]).to.deep.equal([false, sibling.appId]);
    expect(itsOwn.upload.uploadId).not.to.equal(prepared.upload.uploadId);
  });

  it('cannot use an upload as a reference, and is told no more of it than of one that never was', async () => {
    const prepared = await prepare(world, plainImage());
    send(world, prepared, plainImage());
    const { uploadId } = (await complete(world, prepared.upload.uploadId)).upload;
    const using = (caller: Caller, id: string) =>
      createGeneration(world.context, caller, world.ports.ids.uuid(), world.body({}, { reference_upload_ids: [id] }));
    const refusals = await Promise.all([uploadId, '01900000-0000-7000-8000-00000000ffff'].map(
      (id) => using(sibling, id).then(() => 'accepted', (error: Error & { readonly code?: string }) => [error.code, error.message]),
    ));
    expect(refusals[0]).to.have.property('0', 'FIELD_INVALID');
    expect(refusals[0]).to.deep.equal(refusals[1]);
    expect((await world.account()).holds).to.have.property('size', 0);
    expect(await codeOf(using(world.caller, uploadId))).to.equal('OK');
  });
});
