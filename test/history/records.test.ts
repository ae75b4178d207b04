// Goal: the rules about files and about records at rest find each fault that they are for, and nothing else.
// Method: a valid upload, valid outputs and valid generations, and copies with one fault each.
import { expect } from 'chai';
import type { Generation } from '../../core/generation/generation.js';
import type { Upload } from '../../core/uploads/upload.js';
import { invariantsOf } from './finding.js';
import { checkShape } from './record-shape.js';
import { type AskedOutputs, checkEnd, checkOutputs, shownRecord, shownTask } from './task.js';
import { checkBytes, checkCompletion, checkReady } from './uploads.js';

const UPLOAD: Upload = {
  kind: 'upload',
  uploadId: 'u',
  accountId: 'a',
  appId: 'b',
  version: 2,
  status: 'ready',
  filename: 'a.png',
  mediaType: 'image/png',
  byteSize: 10,
  declaredSha256: 'aa',
  role: 'reference_image',
  stagingKey: 'staging/u',
  createdAt: 1,
  expiresAt: 100,
  objectKey: 'media/u',
  ready: { mediaId: 'm', sha256: 'aa', widthPx: 1, heightPx: 1, at: 2 },
  dueAt: 100,
};

describe('what is reported and stored of an upload', () => {
  const completion = {
    told: 'request 1',
    uploadId: 'u',
    declared: 'AA',
    data: { upload_id: 'u', media_id: 'm', status: 'ready', byte_size: 10 },
  };
  const sent = [
    { sha256: 'bb', byteSize: 10 },
    { sha256: 'aa', byteSize: 10 },
  ];
  const { objectKey, ready, ...bare } = UPLOAD;

  it('accepts a completion that matches the record, and of a retired upload its id alone', () => {
    expect(invariantsOf(checkCompletion(completion, UPLOAD))).to.deep.equal([]);
    expect(invariantsOf(checkCompletion({ ...completion, declared: undefined }, UPLOAD))).to.deep.equal([]);
    expect(invariantsOf(checkCompletion(completion, 'retired'))).to.deep.equal([]);
  });

  it('finds each member of a completion that is not on record', () => {
    const wrong = { upload_id: 'v', media_id: 'n', status: 'prepared', byte_size: 11 };
    for (const [member, value] of Object.entries(wrong)) {
      const data = { ...completion.data, [member]: value };
      expect(invariantsOf(checkCompletion({ ...completion, data }, UPLOAD)), member).to.deep.equal([16]);
    }
    const data = { ...completion.data, upload_id: 'v' };
    expect(invariantsOf(checkCompletion({ ...completion, data }, 'retired'))).to.deep.equal([16]);
  });

  it('finds a completion of what is not on record or not ready, and of another digest', () => {
    expect(invariantsOf(checkCompletion(completion, undefined))).to.deep.equal([16]);
    expect(invariantsOf(checkCompletion(completion, bare))).to.deep.equal([16]);
    expect(invariantsOf(checkCompletion({ ...completion, declared: 'bb' }, UPLOAD))).to.deep.equal([16]);
  });

  it('accepts an upload that is ready as it was declared and sent', () => {
    expect(invariantsOf(checkReady(UPLOAD, sent))).to.deep.equal([]);
    const { declaredSha256, ...undeclared } = UPLOAD;
    expect([declaredSha256, ...invariantsOf(checkReady(undeclared, sent))]).to.deep.equal(['aa']);
  });

  it('finds an upload that is ready without bytes, where clients write, and as what was not declared or sent', () => {
    expect([objectKey, ready?.mediaId, ...invariantsOf(checkReady(bare, sent))]).to.deep.equal(['media/u', 'm', 16]);
    expect(invariantsOf(checkReady({ ...UPLOAD, objectKey: 'staging/u' }, sent))).to.deep.equal([16]);
    expect(invariantsOf(checkReady({ ...UPLOAD, declaredSha256: 'bb' }, sent))).to.deep.equal([16]);
    expect(invariantsOf(checkReady(UPLOAD, sent.slice(0, 1)))).to.deep.equal([16]);
    expect(invariantsOf(checkReady(UPLOAD, [{ sha256: 'aa', byteSize: 9 }]))).to.deep.equal([16]);
  });

  it('accepts bytes as they were promised, and finds other and missing ones', () => {
    const promised = { sha256: 'aa', byteSize: 10 };
    expect(invariantsOf(checkBytes('upload u', promised, promised))).to.deep.equal([]);
    expect(invariantsOf(checkBytes('upload u', promised, { byteSize: 10 }))).to.deep.equal([]);
    expect(invariantsOf(checkBytes('upload u', promised, { byteSize: 9 }))).to.deep.equal([16]);
    expect(invariantsOf(checkBytes('upload u', promised, { sha256: 'bb', byteSize: 10 }))).to.deep.equal([16]);
    expect(invariantsOf(checkBytes('upload u', promised, undefined))).to.deep.equal([16]);
  });
});

const IMAGE = {
  mediaId: 'm',
  kind: 'image',
  objectKey: 'outputs/g/1/0',
  contentType: 'image/png',
  byteSize: 5,
  sha256: 'aa',
  widthPx: 128,
  heightPx: 64,
} as const;

describe('what a generation delivers', () => {
  const video = { ...IMAGE, kind: 'video', durationMs: 2_240 } as const;
  const asked: AskedOutputs = { count: 1, size: '128x64', durationSeconds: undefined };
  const found = (outputs: Generation['outputs'], of: Partial<AskedOutputs>, modality: 'image' | 'video' = 'image') =>
    invariantsOf(checkOutputs({ generationId: 'g', modality, outputs }, { ...asked, ...of }));

  it('may be less than was asked for, of the size and duration that were asked for', () => {
    expect(found([IMAGE], { count: 2 })).to.deep.equal([]);
    expect(found([IMAGE], { size: undefined })).to.deep.equal([]);
    expect(found([video], { durationSeconds: 2 }, 'video')).to.deep.equal([]);
  });

  it('is not more, of another kind, size or duration', () => {
    expect(found([IMAGE], { count: 0 })).to.deep.equal([3]);
    expect(found([IMAGE], {}, 'video')).to.deep.equal([9]);
    expect(found([IMAGE], { size: '64x128' })).to.deep.equal([9]);
    expect(found([video], { durationSeconds: 3 }, 'video')).to.deep.equal([9]);
  });

  it('does not contain one output twice', () => {
    expect(found([IMAGE, { ...IMAGE, mediaId: 'n' }], { count: 2 })).to.deep.equal([16]);
    expect(found([IMAGE, { ...IMAGE, objectKey: 'outputs/g/1/1' }], { count: 2 })).to.deep.equal([16]);
  });
});

const ENDED: Generation = {
  kind: 'generation',
  generationId: 'g',
  accountId: 'a',
  appId: 'b',
  version: 5,
  status: 'succeeded',
  modelKey: 'm',
  modality: 'image',
  operation: 'image_generation',
  prompt: 'p',
  parameters: {},
  references: [],
  createdAt: 10,
  updatedAt: 50,
  completedAt: 50,
  settledAt: 60,
  estimatedCredits: 1,
  reservedCredits: 1,
  chargedCredits: 1,
  terms: {
    priceVersion: '1',
    creditsByOutputs: [0, 1],
    cancelFloorCredits: 0,
    queueDeadlineAt: 100,
    runTimeoutMs: 200,
    maxAttempts: 2,
  },
  fence: 1,
  attemptsMade: 1,
  runDeadlineAt: 300,
  attempt: { number: 1, phase: 'submitted', token: 't', reference: 'r', startedAt: 20 },
  outputs: [IMAGE],
  dueAt: 1_000,
};

describe('a generation at rest', () => {
  const calm = { from: 200, slackMs: 30 };
  const times = { endedAt: 50, settledAt: 60 };

  it('has ended and is settled, within its deadline or soon after all faults', () => {
    expect(invariantsOf(checkEnd(ENDED, times, calm))).to.deep.equal([]);
    expect(invariantsOf(checkEnd(ENDED, { endedAt: 330, settledAt: 360 }, calm))).to.deep.equal([]);
    expect(invariantsOf(checkEnd(ENDED, { endedAt: 430, settledAt: 460 }, { ...calm, from: 400 }))).to.deep.equal([]);
    expect(invariantsOf(checkEnd(ENDED, { endedAt: 900, settledAt: 990 }, undefined))).to.deep.equal([]);
  });

  it('is found when it has not ended, or is not settled', () => {
    expect(invariantsOf(checkEnd({ ...ENDED, status: 'running' }, times, calm))).to.deep.equal([20]);
    expect(invariantsOf(checkEnd(ENDED, { ...times, endedAt: undefined }, calm))).to.deep.equal([20]);
    expect(invariantsOf(checkEnd(ENDED, { ...times, settledAt: undefined }, calm))).to.deep.equal([6]);
  });

  it('is found when it ended or was settled too late', () => {
    expect(invariantsOf(checkEnd(ENDED, { endedAt: 331, settledAt: 340 }, calm))).to.deep.equal([20]);
    expect(invariantsOf(checkEnd(ENDED, { endedAt: 50, settledAt: 231 }, calm))).to.deep.equal([6]);
    const { runDeadlineAt, ...unbegun } = ENDED;
    const late = { endedAt: 231, settledAt: 240 };
    expect([runDeadlineAt, ...invariantsOf(checkEnd(unbegun, late, calm))]).to.deep.equal([300, 20]);
  });
});

describe('a record of a generation', () => {
  const error = { code: 'PROVIDER_REJECTED', message: 'No.', retryable: false } as const;
  const failed: Generation = {
    ...ENDED,
    status: 'failed',
    chargedCredits: 0,
    outputs: [],
    error,
    unchargedBytes: 2_048,
  };
  const lease = { worker: 'w', fence: 1, renewedAt: 20, expiresAt: 40 };

  it('is accepted when it is valid', () => {
    expect(invariantsOf(checkShape(ENDED))).to.deep.equal([]);
    expect(invariantsOf(checkShape(failed))).to.deep.equal([]);
  });

  const wrong: readonly (readonly [what: string, record: Generation, invariant: number])[] = [
    ['an ended one that is leased', { ...ENDED, lease }, 7],
    ['a failure without an error', { ...ENDED, status: 'failed', outputs: [] }, 9],
    ['a success with an error', { ...ENDED, error }, 9],
    ['a success without outputs', { ...ENDED, outputs: [] }, 9],
    ['one that was updated before it was made', { ...ENDED, updatedAt: 9 }, 9],
    ['one that ended before it was made', { ...ENDED, completedAt: 9 }, 9],
    ['one that ended after it was updated', { ...ENDED, completedAt: 51 }, 9],
    ['more attempts than its terms allow', { ...ENDED, attemptsMade: 3 }, 9],
    ['an uncharged one whose bytes are not counted', { ...failed, unchargedBytes: 1 }, 9],
    ['content removed of what was charged', { ...ENDED, contentRemovedAt: 70 }, 9],
    ['a time that is no whole number', { ...ENDED, dueAt: 0.5 }, 9],
    ['an open one that has ended', { ...ENDED, status: 'running', outputs: [] }, 9],
  ];
  for (const [what, record, invariant] of wrong) {
    it(`is found: ${what}`, () => {
      expect(invariantsOf(checkShape(record))).to.include(invariant);
    });
  }
});

describe('a task as it is shown', () => {
  const task = {
    generation_id: 'g',
    status: 'succeeded',
    model_key: 'm',
    created_at: '1970-01-01T00:00:00.010Z',
    updated_at: '1970-01-01T00:00:00.050Z',
    completed_at: '1970-01-01T00:00:00.050Z',
    estimated_credits: 1,
    reserved_credits: 1,
    charged_credits: 1,
    outputs: [{ media_id: 'm', media_type: 'image', url: 'http://store/m', width: 128, height: 64 }],
  };

  it('is its record, whatever address an output has', () => {
    expect(shownTask(task)).to.deep.equal(shownRecord(ENDED));
  });

  it('differs from it in every member that a client reads', () => {
    const others = {
      status: 'failed',
      model_key: 'n',
      created_at: '1970-01-01T00:00:00.011Z',
      updated_at: '1970-01-01T00:00:00.051Z',
      completed_at: '1970-01-01T00:00:00.051Z',
      estimated_credits: 2,
      reserved_credits: 2,
      charged_credits: 0,
      outputs: [],
      error: { code: 'INTERNAL_ERROR' },
      client_trace_id: 't',
    };
    for (const [member, value] of Object.entries(others))
      expect(shownTask({ ...task, [member]: value }), member).to.not.deep.equal(shownRecord(ENDED));
  });
});
