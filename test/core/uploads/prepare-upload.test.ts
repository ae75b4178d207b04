import { expect } from 'chai';
import type { Model, ModelLimits } from '../../../core/catalog/model.js';
import { type ServiceError, StoreUnavailable } from '../../../core/errors.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { Recovery } from '../../../core/recovery/recover.js';
import type { Settings } from '../../../core/settings.js';
import { fileRefusal, type PrepareRequest, prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { Gate } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { imageModel } from '../../fixtures/models.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { CoreHarness, cutting, expectCode } from '../../harness/core-harness.js';
import { complete, prepare, prepareBody, send, prepareAndSend } from './upload-steps.js';

// Goal: a prepared upload has one target for exactly the declared file, once per key; invalid requests are refused in
// order.
// Method: the use case on memory adapters; targets are used as a client would; every store call is interrupted once.

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
    await expectCode('IDEMPOTENCY_PAYLOAD_MISMATCH', prepare(harness, BYTES, { filename: 'other.png' }, 'k'));
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
      await expectCode('IDEMPOTENCY_REPLAY_EXPIRED', prepare(harness, BYTES, {}, `k-${isCompleted}`));
      await expectCode(
        'IDEMPOTENCY_PAYLOAD_MISMATCH',
        prepare(harness, BYTES, { filename: 'other.png' }, `k-${isCompleted}`),
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
      await expectCode(
        code,
        prepareUpload(harness.context, harness.caller, harness.ports.ids.uuid(), body),
        JSON.stringify(body),
      );
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

// Goal: what the service keeps for an App's uploads is bounded, in number, in bytes and in uploads that are never
// completed.
// Method: each bound is filled to the last upload it allows; then what frees it is done, and one more is prepared.

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
    await expectCode('QUEUE_FULL', prepare(harness, BYTES), 'the bytes may still be there');
    await afterTargets(harness);
    await expectCode('OK', prepare(harness, BYTES));
    await expectCode('UPLOAD_URL_EXPIRED', complete(harness, upload.uploadId));
  });

  it('refuse declared bytes beyond what an App may store, and accept what fits exactly', async () => {
    const harness = await open({ maxStoredUploadBytesPerApp: 1_000 });
    await prepare(harness, BYTES, { byte_size: 600 });
    const refusal = await refusalOf(prepare(harness, BYTES, { byte_size: 401 }));
    expect([refusal.code, refusal.details.bound]).to.deep.equal(['QUEUE_FULL', 'stored_upload_bytes']);
    await expectCode('OK', prepare(harness, BYTES, { byte_size: 400 }));
    await afterTargets(harness);
    await expectCode('OK', prepare(harness, BYTES, { byte_size: 1_000 }), 'nothing of the others is kept');
  });

  it('count the bytes of completed uploads until their retention is over', async () => {
    const harness = await open({ maxStoredUploadBytesPerApp: BYTES.byteLength });
    const prepared = await prepareAndSend(harness, BYTES);
    await complete(harness, prepared.upload.uploadId);
    await afterTargets(harness);
    await expectCode('QUEUE_FULL', prepare(harness, BYTES, { byte_size: 1 }));
    harness.clock.jump(harness.settings.uploadRetentionMs);
    await harness.clock.run(new Recovery(harness.context).pass());
    await expectCode('OK', prepare(harness, BYTES));
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
    await expectCode('OK', prepare(harness, BYTES));
  });

  it('apply to one App: another one of the same account has its own', async () => {
    const harness = await open({ maxUnfinishedUploadsPerApp: 1 });
    await prepare(harness, BYTES);
    const other = { ...harness.caller, appId: harness.ports.ids.uuid() };
    await expectCode('OK', prepareUpload(harness.context, other, 'k', prepareBody(BYTES)));
    await expectCode('QUEUE_FULL', prepareUpload(harness.context, other, 'l', prepareBody(BYTES)));
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
    await expectCode('QUEUE_FULL', prepare(harness, BYTES));
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

// Goal: prepare accepts exactly the files that some model of the catalog could accept; a refusal leaves the key free;
// an accepted upload is replayed even if the catalog has changed.
// Method: every role, type and size against every pair of models from a small set of limits, compared with a search for
// one model that accepts all three; the use case on memory adapters while its catalog changes.

const ROLES: readonly ReferenceRole[] = ['reference_image', 'start_frame'];
const TYPES = ['image/png', 'image/webp'];
const SIZES = [10, 20];

const model = (changes: Partial<ModelLimits>): Model => imageModel({ limits: { ...imageModel().limits, ...changes } });
const subsets = <T>([one, other]: readonly T[]): readonly (readonly T[])[] => [
  [],
  [one as T],
  [other as T],
  [one as T, other as T],
];

function* someModels(): Generator<Model> {
  for (const maxReferenceUploads of [0, 1]) {
    for (const referenceRoles of subsets(ROLES)) {
      for (const uploadMediaTypes of subsets(TYPES)) {
        for (const maxUploadBytes of SIZES)
          yield model({ maxReferenceUploads, referenceRoles, uploadMediaTypes, maxUploadBytes });
      }
    }
  }
}

function* someRequests(): Generator<PrepareRequest> {
  for (const role of ROLES)
    for (const mediaType of TYPES)
      for (const byteSize of [...SIZES, 21]) yield { content: {}, filename: 'a', role, mediaType, byteSize };
}

function prepareRefusal(models: readonly Model[], request: PrepareRequest): string {
  const refusal = fileRefusal(models, request);
  return refusal === undefined ? 'OK' : `${refusal.code} ${refusal.details.pointer}`;
}

const takes = ({ limits }: Model, { role, mediaType, byteSize }: PrepareRequest): boolean =>
  limits.maxReferenceUploads > 0 &&
  limits.referenceRoles.includes(role) &&
  limits.uploadMediaTypes.includes(mediaType) &&
  byteSize <= limits.maxUploadBytes;

describe('a file that no model could take', () => {
  it('is refused, and no other', () => {
    const models = [...someModels()];
    const requests = [...someRequests()];
    for (const one of models) {
      for (const other of models) {
        for (const request of requests) {
          const isTaken = prepareRefusal([one, other], request) === 'OK';
          if (isTaken !== (takes(one, request) || takes(other, request)))
            expect.fail(JSON.stringify({ one: one.limits, other: other.limits, request, isTaken }));
        }
      }
    }
  });

  it('is refused for its role, then its type, then its size, each among the models left by the previous check', () => {
    const png: PrepareRequest = {
      content: {},
      filename: 'a',
      role: 'reference_image',
      mediaType: 'image/png',
      byteSize: 15,
    };
    const cases: readonly (readonly [string, readonly Partial<ModelLimits>[], string])[] = [
      ['no models', [], 'FIELD_INVALID /role'],
      ['no references', [{ maxReferenceUploads: 0 }], 'FIELD_INVALID /role'],
      [
        'another role, type and size',
        [{ referenceRoles: ['start_frame'], uploadMediaTypes: ['image/webp'], maxUploadBytes: 1 }],
        'FIELD_INVALID /role',
      ],
      [
        'another type and size',
        [{ uploadMediaTypes: ['image/webp'], maxUploadBytes: 1 }],
        'UPLOAD_TYPE_NOT_ALLOWED /media_type',
      ],
      ['another size', [{ maxUploadBytes: 14 }], 'UPLOAD_FILE_TOO_LARGE /byte_size'],
      [
        'the type in another role',
        [{ uploadMediaTypes: ['image/webp'] }, { referenceRoles: ['start_frame'] }],
        'UPLOAD_TYPE_NOT_ALLOWED /media_type',
      ],
      [
        'the size for another type',
        [{ uploadMediaTypes: ['image/webp'], maxUploadBytes: 20 }, { maxUploadBytes: 10 }],
        'UPLOAD_FILE_TOO_LARGE /byte_size',
      ],
      [
        'the size for another role',
        [{ referenceRoles: ['start_frame'], maxUploadBytes: 20 }, { maxUploadBytes: 10 }],
        'UPLOAD_FILE_TOO_LARGE /byte_size',
      ],
      ['one that takes it', [{ maxUploadBytes: 1 }, { maxUploadBytes: 15 }], 'OK'],
    ];
    for (const [name, limits, refusal] of cases) expect(prepareRefusal(limits.map(model), png), name).to.equal(refusal);
  });

  it('leaves its key free, and makes nothing', async () => {
    const bytes = plainImage();
    const harness = await CoreHarness.open({ models: [model({ referenceRoles: ['start_frame'] })] });
    await expectCode('FIELD_INVALID', prepare(harness, bytes, {}, 'k'));
    expect(await harness.ports.uploads.due(Number.MAX_SAFE_INTEGER, 10)).to.deep.equal([]);
    expect(await prepare(harness, bytes, { role: 'start_frame' }, 'k')).to.have.property('replayed', false);
  });

  it("is checked after the installation's limits and the key, and not again for an accepted upload", async () => {
    const bytes = plainImage();
    const harness = await CoreHarness.open();
    const first = await prepare(harness, bytes, {}, 'k');
    harness.models = [];
    expect(await prepare(harness, bytes, {}, 'k')).to.deep.include({ replayed: true, upload: first.upload });
    await expectCode('IDEMPOTENCY_PAYLOAD_MISMATCH', prepare(harness, bytes, { role: 'start_frame' }, 'k'));
    await expectCode('UPLOAD_TYPE_NOT_ALLOWED', prepare(harness, bytes, { media_type: 'image/gif' }, 'k'));
    await expectCode('FIELD_INVALID', prepare(harness, bytes, {}, 'other'));
  });

  it('is not refused by a process whose key was taken over meanwhile', async () => {
    const bytes = plainImage();
    const harness = await CoreHarness.open();
    const gate = new Gate();
    harness.models = [];
    const slow = codeOf(
      prepareUpload(
        harness.process(async (call) => {
          if (call.name === 'claims.remove') await gate.wait();
          return call.proceed();
        }),
        harness.caller,
        'k',
        prepareBody(bytes),
      ),
    );
    await harness.clock.advance(harness.settings.claimLeaseMs);
    expect(gate.reached).to.equal(true);
    harness.models = [imageModel()];
    const { upload } = await prepare(harness, bytes, {}, 'k');
    gate.open();
    expect(await slow).to.equal('IDEMPOTENCY_IN_PROGRESS');
    expect(await prepare(harness, bytes, {}, 'k')).to.deep.include({ replayed: true, upload });
  });
});
