import { expect } from 'chai';
import fc from 'fast-check';
import type { Caller } from '../../../core/access/credential.js';
import { createApp } from '../../../core/access/manage.js';
import type { Model } from '../../../core/catalog/model.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { createGeneration, estimateGeneration } from '../../../core/generation/create-generation.js';
import { exampleRequest } from '../../../core/generation/quote.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { expectBooksRight } from '../../fixtures/ledgers.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { catalogOf, MODELS } from '../../fixtures/models.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { openServiceHarness } from '../../harness/service-harness.js';
import { complete, prepare, prepareBody, send } from '../uploads/upload-steps.js';
import { forAll } from '../../harness/for-all.js';

// Goal: a create is accepted once per key, at its price, or refused with nothing left behind.
// Method: the use case on memory adapters, one or more processes on the same stores.

async function expectNothingLeft(harness: CoreHarness): Promise<void> {
  const account = await harness.account();
  expect([account.holds.size, account.reserved]).to.deep.equal([0, 0]);
  expect(await harness.generations()).to.deep.equal([]);
  expectBooksRight(account, await harness.entries());
}

describe('createGeneration', () => {
  it('reserves what estimate says, queues, and charges nothing', async () => {
    const harness = await CoreHarness.open();
    const { estimatedCredits } = await estimateGeneration(harness.context, harness.caller, harness.body({ count: 3 }));
    const generation = await harness.create({ count: 3 });
    expect(generation).to.include({
      status: 'queued',
      estimatedCredits: 30,
      reservedCredits: 30,
      chargedCredits: 0,
      accountId: harness.caller.accountId,
    });
    expect(estimatedCredits).to.equal(30);
    expect(await harness.account()).to.include({ available: 970, reserved: 30 });
  });

  it('fills in defaults before it prices, and keeps what the client sent', async () => {
    const harness = await CoreHarness.open();
    expect((await harness.create()).parameters).to.deep.equal({ count: 1 });
  });

  it('answers a repeated request with the same generation in its current state', async () => {
    const harness = await CoreHarness.open();
    const first = await harness.post('k');
    const again = await harness.post('k', harness.body(), { context: harness.process() });
    expect([first.replayed, again.replayed, again.generation.generationId]).to.deep.equal([
      false,
      true,
      first.generation.generationId,
    ]);
    expect((await harness.account()).holds.size).to.equal(1);
    const reordered = Object.fromEntries(Object.entries(harness.body()).toReversed());
    expect(await harness.post('k', reordered)).to.have.property('replayed', true);
    await expectCode('IDEMPOTENCY_PAYLOAD_MISMATCH', harness.post('k', harness.body({}, { prompt: 'Another' })));
  });

  it('accepts one of many concurrent duplicates, in one process and in two, and answers the others with it or has them wait', async () => {
    const harness = await CoreHarness.open();
    const processes = [harness.process(), harness.process()];
    const answers = await harness.clock.run(
      Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          harness
            .post('k', harness.body(), { context: processes[index % 2] ?? harness.context })
            .catch((error: unknown) => {
              expect(error).to.be.instanceOf(ServiceError).with.property('code', 'IDEMPOTENCY_IN_PROGRESS');
            }),
        ),
      ),
    );
    const created = answers.filter((answer) => answer !== undefined);
    expect(created.filter(({ replayed }) => !replayed)).to.have.length(1);
    expect(new Set(created.map(({ generation }) => generation.generationId)).size).to.equal(1);
    expect((await harness.account()).holds.size).to.equal(1);
    expect(await harness.generations()).to.have.length(1);
  });

  it('accepts exactly min(K, floor(b / c)) of K concurrent creates, each with its hold', async () => {
    await forAll(
      60,
      [fc.nat({ max: 200 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 12 })],
      async (credits, count, creates) => {
        const harness = await CoreHarness.open({ credits });
        const processes = [harness.process(), harness.process()];
        const codes = await harness.clock.run(
          Promise.all(
            Array.from({ length: creates }, (_, index) =>
              codeOf(
                harness.post(`k${index}`, harness.body({ count }), {
                  context: processes[index % 2] ?? harness.context,
                }),
              ),
            ),
          ),
        );
        const accepted = Math.min(creates, Math.floor(credits / (10 * count)));
        expect(codes.filter((code) => code === 'OK')).to.have.length(accepted);
        expect(codes.filter((code) => code === 'CREDITS_INSUFFICIENT')).to.have.length(creates - accepted);
        const account = await harness.account();
        expect(new Set(account.holds.keys())).to.deep.equal(
          new Set((await harness.generations()).map(({ generationId }) => generationId)),
        );
        expectBooksRight(account, await harness.entries());
      },
    );
  });

  it('leaves nothing behind a 402, and the key free for another try', async () => {
    const harness = await CoreHarness.open({ credits: 9 });
    await expectCode('CREDITS_INSUFFICIENT', harness.post('k'));
    await expectNothingLeft(harness);
    await harness.grant(100, 'more');
    expect(await harness.post('k', harness.body({ count: 2 }))).to.have.property('replayed', false);
  });

  it('leaves nothing behind a 422, and the key free for another try', async () => {
    const harness = await CoreHarness.open();
    const wrong = [
      harness.body({ count: 5 }),
      harness.body({ unknown: 1 }),
      harness.body({}, { model_key: 'none' }),
      harness.body({ style: 'https://example.com' }),
      harness.body({}, { reference_upload_ids: ['01900000-0000-7000-8000-00000000ffff'] }),
      harness.body({}, { operation: 'video_generation' }),
    ];
    for (const body of wrong) await expectCode('FIELD_INVALID', harness.post('k', body), JSON.stringify(body));
    await expectNothingLeft(harness);
    await expectCode('OK', harness.post('k'));
  });

  it('accepts no more open generations than the operator allows, and frees the key', async () => {
    const harness = await CoreHarness.open({ settings: { maxOpenGenerationsPerAccount: 2 } });
    await harness.create();
    await harness.create();
    await expectCode('QUEUE_FULL', harness.post('k'));
    expect(await harness.generations()).to.have.length(2);
    const claim = await harness.ports.claims.insert({
      accountId: harness.caller.accountId,
      appId: harness.caller.appId,
      operation: 'create',
      key: 'k',
      version: 1,
      digest: '',
      subjectId: '',
      createdAt: 0,
      leaseExpiresAt: 0,
      removeAt: 0,
    });
    expect(claim.inserted, 'the key is free').to.equal(true);
  });

  it('answers a late refused request with what the new owner of its key accepted, and leaves the key to it', async () => {
    const harness = await CoreHarness.open({ credits: 10 });
    let wakeUp: () => void = () => undefined;
    const asleep = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    const slow = harness.process(async (call) => {
      // The key is claimed already when another request spends the credits.
      if (call.name === 'accounts.apply') await harness.post('other');
      if (call.name === 'claims.remove') await asleep;
      return call.proceed();
    });
    const first = harness.post('k', harness.body(), { context: slow });
    await harness.clock.advance(harness.settings.claimLeaseMs + 1);
    await expectCode('CREDITS_INSUFFICIENT', harness.post('k'));
    await harness.grant(100, 'more');
    const accepted = await harness.post('k');
    wakeUp();
    for (const again of [await first, await harness.post('k')])
      expect([again.replayed, again.generation.generationId]).to.deep.equal([true, accepted.generation.generationId]);
  });
});

// Goal: when the outcome of a store call is unknown, a create returns no refusal and is not run again under its key
// until the key shows the outcome.
// Method: the answer of one store call is lost, before or after its effect; the same key is retried at once and after
// the lease has lapsed; then everything is counted, before recovery runs.

type Cut = 'before' | 'after';

interface Losing {
  readonly call: string;
  readonly cut: Cut;
  /** Done just before the first change of the account, when the key has been claimed. */
  readonly meanwhile?: () => Promise<unknown>;
}

/**
 * The outcome of a create, always under the same key, in a process that loses this call's answer or in a healthy one.
 */
async function create(harness: CoreHarness, losing?: Losing): Promise<string> {
  let { meanwhile } = losing ?? {};
  const context = harness.process(async (call) => {
    if (call.name === 'accounts.apply') {
      const before = meanwhile;
      meanwhile = undefined;
      await before?.();
    }
    if (call.name !== losing?.call) return call.proceed();
    if (losing.cut === 'after') await call.proceed();
    throw new StoreUnavailable('The line broke.');
  });
  try {
    await harness.clock.run(harness.post('k', harness.body(), { context }));
    return 'OK';
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'StoreUnavailable';
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

describe('createGeneration that does not know', () => {
  for (const cut of ['before', 'after'] as const) {
    it(`whether a refused request's key is free (cut ${cut} the call): does not refuse, and a retry finds out`, async () => {
      const harness = await CoreHarness.open({ credits: 10 });
      const spend = () => harness.post('other');
      expect(await create(harness, { call: 'claims.remove', cut, meanwhile: spend })).to.equal('StoreUnavailable');
      expect(await create(harness)).to.equal(cut === 'before' ? 'IDEMPOTENCY_IN_PROGRESS' : 'CREDITS_INSUFFICIENT');
      harness.clock.jump(harness.settings.claimLeaseMs);
      expect(await create(harness)).to.equal('CREDITS_INSUFFICIENT');
      await harness.grant(10, 'more');
      expect(await create(harness), 'the key was bound by nothing').to.equal('OK');
    });

    it(`whether the price is held (cut ${cut} the call): keeps the key, so that there are never two holds under it`, async () => {
      const harness = await CoreHarness.open();
      expect(await create(harness, { call: 'accounts.apply', cut })).to.equal('StoreUnavailable');
      expect(await create(harness)).to.equal('IDEMPOTENCY_IN_PROGRESS');
      harness.clock.jump(harness.settings.claimLeaseMs);
      expect(await create(harness)).to.equal('OK');
      const [generation] = await harness.generations();
      expect(
        [...(await harness.account()).holds.keys()],
        'the lost hold went when the key was taken over',
      ).to.deep.equal([generation?.generationId]);
    });
  }
});

// Goal: two Apps of one account share its credits and nothing else: neither idempotency keys nor uploads.
// Method: the use cases on memory adapters, called by two Apps of one account with the same keys and ids.

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
    const one = await harness.post('alike');
    const other = await harness.post('alike', harness.body(), { caller: sibling });
    expect([one.replayed, other.replayed, other.generation.appId]).to.deep.equal([false, false, sibling.appId]);
    await harness.post('unlike', harness.body({ count: 1 }));
    await expectCode('OK', harness.post('unlike', harness.body({ count: 2 }), { caller: sibling }));
    const again = await harness.post('alike', harness.body(), { caller: sibling });
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
      harness.post(harness.ports.ids.uuid(), harness.body({}, { reference_upload_ids: [id] }), { caller });
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
    await expectCode('OK', using(harness.caller, uploadId));
  });
});

// Goal: a create never reserves more than its approved credits; a refused one keeps no key and never blocks a replay.
// Method: the use case on memory adapters, the account and the key checked after each refusal.

describe('the credits that were approved for a create', () => {
  let harness: CoreHarness;
  const createApproved = (approvedCredits: number | undefined, count = 2, key = 'key') =>
    createGeneration(
      harness.context,
      harness.caller,
      key,
      harness.body({ count }),
      approvedCredits === undefined ? {} : { approvedCredits },
    );

  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('refuse one credit more, reserve nothing and leave the key free', async () => {
    const refusal = await createApproved(19).catch((error: unknown) => error as ServiceError);
    expect(refusal).to.be.instanceOf(ServiceError).with.property('code', 'SPENDING_NOT_CONFIRMED');
    expect((refusal as ServiceError).details).to.deep.equal({ credits: 20 });
    const account = await harness.account();
    expect([account.available, account.holds.size]).to.deep.equal([1_000, 0]);
    expect(await harness.generations()).to.deep.equal([]);
    expect((await createApproved(undefined, 1)).replayed).to.equal(false);
  });

  it('allow exactly as much', async () => {
    expect((await createApproved(20)).generation.reservedCredits).to.equal(20);
  });

  it('do not apply to a replay, which reserves nothing', async () => {
    const { generation } = await createApproved(undefined);
    const again = await createApproved(0);
    expect([again.replayed, again.generation.generationId]).to.deep.equal([true, generation.generationId]);
  });

  it('are checked before the balance, so that the balance is not revealed', async () => {
    const poor = await harness.newCaller(0);
    const body = harness.body({ count: 2 });
    await expectCode(
      'SPENDING_NOT_CONFIRMED',
      createGeneration(harness.context, poor, 'key', body, { approvedCredits: 1 }),
    );
    await expectCode(
      'CREDITS_INSUFFICIENT',
      createGeneration(harness.context, poor, 'key', body, { approvedCredits: 20 }),
    );
  });
});

/*
 * Goal: the example request that people are shown is one that the catalog takes, with whatever parameters a model needs.
 * Method: catalogs of a few models, in memory.
 */

const CALLER = { accountId: 'a', appId: 'b', credentialId: 'c', scopes: [] };

async function exampleOf(models: readonly Model[]): Promise<object | undefined> {
  const harness = await openServiceHarness({ ports: { catalog: catalogOf(() => models) } });
  const example = await exampleRequest(harness.context, CALLER);
  await harness.close();
  return example;
}

describe('the example request', () => {
  const picture = MODELS.find(({ operations }) => operations.includes('image_generation')) as Model;
  const withParameters = (required: string[], properties: Model['inputSchema']): Model => ({
    ...picture,
    modelKey: 'another',
    inputSchema: { type: 'object', additionalProperties: false, required, properties },
    price: { ...picture.price, unit: 'task' },
  });

  it('names the first model that makes a picture of a text, and each parameter that it needs', async () => {
    expect(await exampleOf(MODELS)).to.deep.equal({
      model_key: picture.modelKey,
      operation: 'image_generation',
      prompt: 'a lighthouse at dusk',
      parameters: { size: '96x64' },
    });
  });

  it('has no parameters where none are needed', async () => {
    const example = await exampleOf([withParameters([], { steps: { type: 'integer', minimum: 1 } })]);
    expect(example).not.to.have.property('parameters');
  });

  it('passes over a model that needs what nobody can guess, and says so when there is no other', async () => {
    const unknown = withParameters(['motto'], { motto: { type: 'string', minLength: 1 } });
    expect(await exampleOf([unknown, picture])).to.include({ model_key: picture.modelKey });
    expect(await exampleOf([unknown])).to.equal(undefined);
    expect(await exampleOf([])).to.equal(undefined);
  });
});
