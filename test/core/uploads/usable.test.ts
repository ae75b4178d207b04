// Goal: prepare accepts exactly the files that some model of the catalog could accept; a refusal leaves the key free;
// an accepted upload is replayed even if the catalog has changed.
// Method: every role, type and size against every pair of models from a small set of limits, compared with a search for
// one model that accepts all three; the use case on memory adapters while its catalog changes.
import { expect } from 'chai';
import type { Model, ModelLimits } from '../../../core/catalog/model.js';
import { ServiceError } from '../../../core/errors.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import { type PrepareRequest, prepareUpload, requireUsable } from '../../../core/uploads/prepare-upload.js';
import { imageModel } from '../../fixtures/core-models.js';
import { Gate } from '../../fixtures/intercepted.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { prepare, prepareBody } from './upload-steps.js';

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

function refusalOf(models: readonly Model[], request: PrepareRequest): string {
  try {
    requireUsable(models, request);
    return 'OK';
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return `${error.code} ${error.details.pointer}`;
  }
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
          const isTaken = refusalOf([one, other], request) === 'OK';
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
    for (const [name, limits, refusal] of cases) expect(refusalOf(limits.map(model), png), name).to.equal(refusal);
  });

  it('leaves its key free, and makes nothing', async () => {
    const bytes = plainImage();
    const harness = await CoreHarness.open({ models: [model({ referenceRoles: ['start_frame'] })] });
    expect(await codeOf(prepare(harness, bytes, {}, 'k'))).to.equal('FIELD_INVALID');
    expect(await harness.ports.uploads.due(Number.MAX_SAFE_INTEGER, 10)).to.deep.equal([]);
    expect(await prepare(harness, bytes, { role: 'start_frame' }, 'k')).to.have.property('replayed', false);
  });

  it("is checked after the installation's limits and the key, and not again for an accepted upload", async () => {
    const bytes = plainImage();
    const harness = await CoreHarness.open();
    const first = await prepare(harness, bytes, {}, 'k');
    harness.models = [];
    expect(await prepare(harness, bytes, {}, 'k')).to.deep.include({ replayed: true, upload: first.upload });
    expect(await codeOf(prepare(harness, bytes, { role: 'start_frame' }, 'k'))).to.equal(
      'IDEMPOTENCY_PAYLOAD_MISMATCH',
    );
    expect(await codeOf(prepare(harness, bytes, { media_type: 'image/gif' }, 'k'))).to.equal('UPLOAD_TYPE_NOT_ALLOWED');
    expect(await codeOf(prepare(harness, bytes, {}, 'other'))).to.equal('FIELD_INVALID');
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
