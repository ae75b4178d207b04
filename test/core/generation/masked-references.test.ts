// Goal: a file with transparent areas is refused before credits are held where a provider of the model cannot make just those
// anew, and reaches the provider as a mask otherwise.
// Method: the use cases on memory adapters, with providers that promise what each test says.
import { expect } from 'chai';
import type { Model } from '../../../core/catalog/model.js';
import { ServiceError } from '../../../core/errors.js';
import { createGeneration, estimateGeneration } from '../../../core/generation/create-generation.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { connectedProviders } from '../../fixtures/connected-providers.js';
import { imageModel } from '../../fixtures/core-models.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { ScriptedProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { CoreWorker, untilSettled } from '../../harness/core-worker.js';
import { complete, prepare, send } from '../uploads/upload-steps.js';

const TRANSPARENT = plainImage(64, 64, 'image/png', 'transparent');
const OPAQUE = plainImage();

/** Providers by their names, with how many masked references each promises. */
async function open(promised: Readonly<Record<string, number | undefined>>, model: Partial<Model> = {}) {
  const providers = Object.fromEntries(
    Object.entries(promised).map(([name, maxMaskedReferences]) => {
      const provider = new ScriptedProvider();
      if (maxMaskedReferences !== undefined) provider.promised = { ...provider.promised, maxMaskedReferences };
      return [name, provider];
    }),
  );
  const route = Object.keys(promised).map((provider) => ({ provider, settings: {}, weight: 1 }));
  const limits = { ...imageModel().limits, referenceRoles: ['reference_image', 'start_frame', 'end_frame'] } as const;
  const harness = await CoreHarness.open({
    models: [imageModel({ route, limits, ...model })],
    ports: { providers: connectedProviders(providers) },
  });
  return { harness, providers };
}

async function uploaded(
  harness: CoreHarness,
  bytes: Uint8Array,
  role: ReferenceRole = 'reference_image',
): Promise<string> {
  const prepared = await prepare(harness, bytes, { role });
  send(harness, prepared, bytes);
  await complete(harness, prepared.upload.uploadId);
  return prepared.upload.uploadId;
}

/** What estimate and create say of these files; both must say the same. */
async function refusalOf(harness: CoreHarness, ids: readonly string[]) {
  const body = harness.body({}, { reference_upload_ids: [...ids] });
  const outcomes = await Promise.all(
    [
      () => estimateGeneration(harness.context, harness.caller, body),
      () => createGeneration(harness.context, harness.caller, harness.ports.ids.uuid(), body),
    ].map((work) => work().catch((error: unknown) => error)),
  );
  for (const outcome of outcomes) if (outcome instanceof Error && !(outcome instanceof ServiceError)) throw outcome;
  const [estimated, created] = outcomes.map((outcome) =>
    outcome instanceof ServiceError ? { code: outcome.code, message: outcome.message, details: outcome.details } : 'OK',
  );
  expect(created).to.deep.equal(estimated);
  return created;
}

async function expectNothingHeld(harness: CoreHarness): Promise<void> {
  const account = await harness.account();
  expect([account.holds.size, account.reserved]).to.deep.equal([0, 0]);
  expect(await harness.generations()).to.deep.equal([]);
}

function refusedAt(index: number, message: string) {
  const pointer = `/reference_upload_ids/${index}`;
  return { code: 'FIELD_INVALID', message, pointer };
}

async function expectRefused(
  harness: CoreHarness,
  ids: readonly string[],
  { code, message, pointer }: ReturnType<typeof refusedAt>,
): Promise<void> {
  const refusal = await refusalOf(harness, ids);
  expect(refusal).to.include({ code, message });
  expect(JSON.stringify(refusal)).to.include(pointer);
  await expectNothingHeld(harness);
}

describe('a reference with transparent areas', () => {
  it('is refused where the provider takes no masks, also with opaque files before it', async () => {
    const { harness } = await open({ one: undefined });
    const [opaque, masked] = [await uploaded(harness, OPAQUE), await uploaded(harness, TRANSPARENT)];
    const message = 'plain-image takes no file with transparent areas; upload an opaque file.';
    await expectRefused(harness, [masked], refusedAt(0, message));
    await expectRefused(harness, [opaque, masked], refusedAt(1, message));
  });

  it('is refused where one provider of the route takes no masks', async () => {
    for (const other of [undefined, 0]) {
      const { harness } = await open({ one: 1, two: other });
      const masked = await uploaded(harness, TRANSPARENT);
      await expectRefused(
        harness,
        [masked],
        refusedAt(0, 'plain-image takes no file with transparent areas; upload an opaque file.'),
      );
    }
  });

  it('is refused as a start frame and as an end frame, whatever the provider takes', async () => {
    const { harness } = await open({ one: 8 });
    for (const role of ['start_frame', 'end_frame'] as const) {
      const masked = await uploaded(harness, TRANSPARENT, role);
      await expectRefused(
        harness,
        [masked],
        refusedAt(0, `The ${role} must not have transparent areas; upload an opaque file.`),
      );
    }
  });

  it('is refused beyond as many as the least provider of the route takes', async () => {
    for (const [most, message] of [
      [1, 'plain-image takes at most 1 file with transparent areas.'],
      [2, 'plain-image takes at most 2 files with transparent areas.'],
    ] as const) {
      const { harness } = await open({ one: most, two: 3 });
      const ids = await Promise.all([0, 1, 2].map(() => uploaded(harness, TRANSPARENT)));
      await expectRefused(harness, ids.slice(0, most + 1), refusedAt(most, message));
    }
  });

  it('is accepted where every provider takes it, beside opaque files, and says so to the provider', async () => {
    const { harness, providers } = await open({ one: 1 });
    await CoreWorker.start(harness, 'worker');
    const ids = [await uploaded(harness, OPAQUE), await uploaded(harness, TRANSPARENT)];
    const body = harness.body({}, { reference_upload_ids: ids });
    const { generation } = await createGeneration(harness.context, harness.caller, 'k', body);
    expect((await untilSettled(harness, generation.generationId)).status).to.equal('succeeded');
    expect(providers['one']!.submissions[0]?.references.map(({ isMasked }) => isMasked)).to.deep.equal([
      undefined,
      true,
    ]);
  });

  it('counts as opaque where it was uploaded before transparency was looked for', async () => {
    const { harness } = await open({ one: undefined });
    const id = await uploaded(harness, TRANSPARENT);
    const upload = await harness.ports.uploads.read(id);
    if (upload?.kind !== 'upload' || upload.ready === undefined) throw new Error('The upload is not ready.');
    expect(upload.ready.isMasked).to.equal(true);
    const { isMasked: _, ...ready } = upload.ready;
    await harness.ports.uploads.replace({ ...upload, ready, version: upload.version + 1 }, upload.version);
    expect(await refusalOf(harness, [id])).to.equal('OK');
  });
});
