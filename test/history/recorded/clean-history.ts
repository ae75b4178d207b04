import type { Account, Entry } from '../../../core/credits/account.js';
import type { Generation, Output } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import type { Upload } from '../../../core/uploads/upload.js';
import { GENERATION_CASES, type GenerationCase, id, IDS, POOR, RICH } from './clean-cases.js';
import type { Answer, Exchange, History, Request } from './history.js';

/** A mutable history: a test changes any part to break one guarantee. */
export type Draft<T> =
  T extends ReadonlyMap<infer K, infer V>
    ? Map<K, Draft<V>>
    : JsonObject extends T
      ? T
      : T extends object
        ? { -readonly [M in keyof T]: Draft<T[M]> }
        : T;

const time = (at: number) => new Date(at).toISOString();
const sha = (digit: string) => digit.repeat(64);

/** Long after every event in this file. */
export const QUIET_AT = 1_000_000;

/** The key that created all generations. */
const CREDENTIAL = id(98);
/** The poor party's key: its cap equals its account's balance. */
export const CAPPED = { keyId: id(96), monthlyCap: 3, month: '1970-01' };

const MODEL: JsonObject = {
  model_key: 'sandbox-test',
  price: 1,
  price_unit: 'image',
  input_schema: {
    type: 'object',
    properties: {
      n: { type: 'integer', default: 1 },
      behaviour: { type: 'string', default: 'succeed' },
      deliver: { type: 'integer' },
      error_code: { type: 'string', default: 'PROVIDER_REJECTED' },
      size: { type: 'string' },
    },
  },
};

function bodyOf(testCase: Pick<GenerationCase, 'key' | 'n' | 'generationId' | 'asked'>): JsonObject {
  const references = testCase.generationId === IDS.succeeded ? { reference_upload_ids: [IDS.upload] } : {};
  return {
    model_key: 'sandbox-test',
    operation: 'image_generation',
    prompt: 'A test',
    parameters: { n: testCase.n, size: '128x128', ...testCase.asked },
    client_trace_id: testCase.key,
    ...references,
  };
}

function outputsOf({ generationId, outputs }: GenerationCase): Output[] {
  return Array.from({ length: outputs }, (_, index) => ({
    mediaId: generationId === IDS.succeeded ? IDS.output : id(200 + index),
    kind: 'image',
    objectKey: `outputs/${generationId}/1/${index}`,
    contentType: 'image/png',
    byteSize: 500,
    sha256: sha('a'),
    widthPx: 128,
    heightPx: 128,
  }));
}

function recordOf(testCase: GenerationCase): Generation {
  const { generationId, owner, key, n, createdAt, endedAt, status, wasBegun } = testCase;
  return {
    kind: 'generation',
    generationId,
    ...owner,
    version: 9,
    status,
    modelKey: 'sandbox-test',
    modality: 'image',
    operation: 'image_generation',
    prompt: 'A test',
    parameters: { n, size: '128x128', ...testCase.asked },
    references:
      generationId === IDS.succeeded
        ? [
            {
              uploadId: IDS.upload,
              role: 'reference_image',
              objectKey: 'media/u',
              mediaType: 'image/png',
              byteSize: 100,
              sha256: sha('b'),
            },
          ]
        : [],
    clientTraceId: key,
    credentialId: credentialOf(testCase.owner),
    createdAt,
    updatedAt: endedAt,
    completedAt: endedAt,
    estimatedCredits: n,
    reservedCredits: n,
    chargedCredits: testCase.outputs,
    terms: {
      priceVersion: '1',
      creditsByOutputs: Array.from({ length: n + 1 }, (_, index) => index),
      cancelFloorCredits: 0,
      queueDeadlineAt: createdAt + 60_000,
      runTimeoutMs: 20_000,
      maxAttempts: 3,
    },
    fence: wasBegun ? 1 : 0,
    attemptsMade: wasBegun ? 1 : 0,
    outputs: outputsOf(testCase),
    settledAt: endedAt,
    dueAt: endedAt + 1_000_000,
    ...(testCase.outputs === 0 ? { unchargedBytes: 2_048 } : {}),
    ...(wasBegun
      ? {
          runDeadlineAt: createdAt + 20_100,
          attempt: { number: 1, phase: 'submitted', token: 't', reference: 'r', startedAt: createdAt + 100 },
        }
      : {}),
    ...(status === 'cancelled' && wasBegun ? { cancelRequestedAt: createdAt + 500 } : {}),
    ...(status === 'failed' ? { error: { code: 'PROVIDER_REJECTED', message: 'No.', retryable: false } } : {}),
  };
}

function credentialOf(owner: typeof RICH): string {
  return owner === POOR ? CAPPED.keyId : CREDENTIAL;
}

function accountOf({ accountId }: typeof RICH, granted: number): Account & { entries: Entry[] } {
  const entries: Entry[] = [];
  let available = 0;
  const add = (entry: Pick<Entry, 'kind' | 'from' | 'to' | 'credits' | 'at' | 'generationId' | 'attribution'>) => {
    available += entry.to === 'available' ? entry.credits : entry.from === 'available' ? -entry.credits : 0;
    entries.push({ accountId, sequence: entries.length + 1, availableAfter: available, ...entry });
  };
  add({ kind: 'grant', from: 'issued', to: 'available', credits: granted, at: 0 });
  const own = GENERATION_CASES.filter(({ owner }) => owner.accountId === accountId);
  for (const { generationId, key, owner, n, outputs, createdAt, endedAt } of own) {
    const about = () => ({
      generationId,
      attribution: {
        credentialId: credentialOf(owner),
        appId: owner.appId,
        modelKey: 'sandbox-test',
        clientTraceId: key,
        ...(owner === POOR ? { capPeriod: CAPPED.month } : {}),
      },
    });
    add({ kind: 'hold', from: 'available', to: 'reserved', credits: n, at: createdAt, ...about() });
    if (outputs > 0) add({ kind: 'charge', from: 'reserved', to: 'spent', credits: outputs, at: endedAt, ...about() });
    if (outputs < n)
      add({ kind: 'release', from: 'reserved', to: 'available', credits: n - outputs, at: endedAt, ...about() });
  }
  const spent = own.reduce((sum, { outputs }) => sum + outputs, 0);
  return {
    accountId,
    name: 'test',
    currency: 'credits',
    createdAt: 0,
    version: 9,
    issued: granted,
    available,
    reserved: 0,
    spent,
    lastSequence: entries.length,
    holds: new Map(),
    ...(accountId === POOR.accountId
      ? { capUses: new Map([[CAPPED.keyId, { credentialId: CAPPED.keyId, period: CAPPED.month, used: spent }]]) }
      : {}),
    entries,
  };
}

/** The task as a client sees it: queued, running, or ended. */
function taskOf(testCase: GenerationCase, shown: 'queued' | 'running' | 'ended', at: number): JsonObject {
  const isOver = shown === 'ended';
  const { generationId, key, n, createdAt, endedAt, status, outputs } = testCase;
  return {
    generation_id: generationId,
    status: isOver ? status : shown,
    model_key: 'sandbox-test',
    modality: 'image',
    operation: 'image_generation',
    created_at: time(createdAt),
    updated_at: time(at),
    ...(isOver ? { completed_at: time(endedAt) } : { poll_after_ms: 2_000 }),
    estimated_credits: n,
    reserved_credits: n,
    charged_credits: isOver ? outputs : 0,
    outputs: isOver
      ? outputsOf(testCase).map(({ mediaId, widthPx, heightPx }) => ({
          media_id: mediaId,
          media_type: 'image',
          url: `http://store/${mediaId}?at=${at}`,
          width: widthPx,
          height: heightPx,
        }))
      : [],
    ...(isOver && status === 'failed'
      ? { error: { code: 'PROVIDER_REJECTED', message: 'No.', retryable: false } }
      : {}),
    client_trace_id: key,
  };
}

const ok = (status: number, data: JsonObject): Answer => ({ status, code: 'OK', message: 'OK', data });
/** The answer to a client that asks for its credits. */
export const balance = (credits: number): Answer =>
  ok(200, { balance_credits: credits, available_credits: credits, remaining_credits: credits });
const refused = (status: number, code: string, message = code): Answer => ({ status, code, message });

function exchange(by: string, sentAt: number, request: Request, answer?: Answer, through = 'rest-1'): Exchange {
  return { by, through, sentAt, request, ...(answer ? { answered: { at: sentAt + 50, answer } } : {}) };
}

function exchangesOf(testCase: GenerationCase, by: string): Exchange[] {
  const { generationId, key, createdAt, endedAt, status, wasBegun } = testCase;
  const create: Request = { operation: 'create', key, body: bodyOf(testCase) };
  return [
    exchange(by, createdAt - 40, create),
    exchange(by, createdAt + 20, create, refused(503, 'SERVICE_UNAVAILABLE'), 'rest-2'),
    exchange(by, createdAt + 90, create, ok(202, taskOf(testCase, 'queued', createdAt)), 'rest-2'),
    ...(wasBegun
      ? [
          exchange(
            by,
            createdAt + 200,
            { operation: 'get', generationId },
            ok(200, taskOf(testCase, 'running', createdAt + 150)),
          ),
        ]
      : []),
    ...(status === 'cancelled'
      ? [
          exchange(
            by,
            createdAt + 450,
            { operation: 'cancel', generationId },
            ok(200, wasBegun ? taskOf(testCase, 'running', createdAt + 500) : taskOf(testCase, 'ended', endedAt)),
          ),
        ]
      : []),
    exchange(
      by,
      endedAt + 100,
      { operation: 'get', generationId },
      ok(200, taskOf(testCase, 'ended', endedAt)),
      'rest-2',
    ),
    exchange(by, QUIET_AT + 10, { operation: 'get', generationId }, ok(200, taskOf(testCase, 'ended', endedAt))),
  ];
}

function uploadExchanges(): Exchange[] {
  const prepare: Request = {
    operation: 'prepare',
    key: 'prepare-1',
    body: { filename: 'prepare-1.png', media_type: 'image/png', byte_size: 100, role: 'reference_image' },
  };
  const complete: Request = {
    operation: 'complete',
    key: 'complete-1',
    uploadId: IDS.upload,
    body: { sha256: sha('b') },
  };
  const completed = ok(200, {
    upload_id: IDS.upload,
    media_id: IDS.media,
    status: 'ready',
    media_type: 'image',
    byte_size: 100,
  });
  return [
    exchange('rich', 100, prepare, ok(201, { upload_id: IDS.upload, upload_url: 'http://store/put', method: 'PUT' })),
    exchange(
      'rich',
      200,
      { operation: 'put', uploadId: IDS.upload, sha256: sha('c'), byteSize: 100 },
      { status: 400 },
      'store',
    ),
    exchange(
      'rich',
      300,
      { operation: 'put', uploadId: IDS.upload, sha256: sha('b'), byteSize: 100 },
      { status: 200 },
      'store',
    ),
    exchange('rich', 400, complete),
    exchange('rich', 500, complete, refused(409, 'IDEMPOTENCY_IN_PROGRESS'), 'rest-2'),
    exchange('rich', 600, complete, completed, 'rest-2'),
    exchange(
      'rich',
      700,
      { ...complete, key: 'complete-2', uploadId: IDS.random },
      refused(422, 'FIELD_INVALID', 'No such upload.'),
    ),
    exchange('poor', 800, { ...complete, key: 'complete-3' }, refused(422, 'FIELD_INVALID', 'No such upload.')),
  ];
}

/** Foreign Apps, a revoked key, and a poor account with 3 credits that gets three creates of 2 credits each. */
function otherExchanges(): Exchange[] {
  const poor = (key: string): Request => ({
    operation: 'create',
    key,
    body: bodyOf({ key, n: 2, generationId: '', asked: {} }),
  });
  return [
    exchange(
      'rich',
      1_500,
      { operation: 'create', key: 'key-succeeded', body: { prompt: 'Another', client_trace_id: 'key-succeeded' } },
      refused(409, 'IDEMPOTENCY_PAYLOAD_MISMATCH'),
    ),
    exchange('poor', 10_000, { operation: 'get', generationId: IDS.succeeded }, refused(404, 'TASK_NOT_FOUND')),
    exchange('poor', 10_100, { operation: 'get', generationId: IDS.random }, refused(404, 'TASK_NOT_FOUND')),
    exchange('poor', 10_200, { operation: 'cancel', generationId: IDS.succeeded }, refused(404, 'TASK_NOT_FOUND')),
    exchange('leaver', 11_000, { operation: 'credits' }, balance(99)),
    exchange('leaver', 13_000, { operation: 'credits' }, balance(99)),
    exchange('leaver', 18_000, { operation: 'credits' }, refused(401, 'DEVELOPER_TOKEN_REVOKED'), 'rest-2'),
    exchange('poor', 20_150, poor('poor-2'), refused(402, 'CREDITS_INSUFFICIENT')),
    exchange('poor', 20_150, poor('poor-3'), refused(402, 'CREDITS_INSUFFICIENT'), 'rest-2'),
    exchange(
      'rich',
      25_000,
      { operation: 'fetch', generationId: IDS.succeeded, mediaId: IDS.output },
      {
        status: 200,
        bytes: {
          contentType: 'image/png',
          byteSize: 500,
          sha256: sha('a'),
          kind: 'image',
          widthPx: 128,
          heightPx: 128,
        },
      },
      'store',
    ),
  ];
}

const UPLOAD: Upload = {
  kind: 'upload',
  uploadId: IDS.upload,
  ...RICH,
  version: 4,
  status: 'ready',
  filename: 'prepare-1.png',
  mediaType: 'image/png',
  byteSize: 100,
  declaredSha256: sha('b'),
  role: 'reference_image',
  stagingKey: 'staging/u',
  createdAt: 100,
  expiresAt: 900_000,
  objectKey: 'media/u',
  ready: { mediaId: IDS.media, sha256: sha('b'), widthPx: 24, heightPx: 16, at: 600 },
  dueAt: 90_000_000,
};

/** A short history that keeps every guarantee, built anew for each call. */
export function cleanHistory(): Draft<History> {
  const history: History = {
    facts: {
      parties: [
        { name: 'rich', keyId: CREDENTIAL, ...RICH },
        { name: 'poor', keyId: CAPPED.keyId, monthlyCap: CAPPED.monthlyCap, ...POOR },
        { name: 'leaver', keyId: id(97), ...RICH },
      ],
      granted: { [RICH.accountId]: 100, [POOR.accountId]: 3 },
      models: [MODEL],
      bursts: [{ by: 'poor', keys: ['poor-1', 'poor-2', 'poor-3'], cost: 2, balance: 3, isExact: true }],
      revocations: [{ by: 'leaver', askedAt: 12_000, doneAt: 12_100 }],
      secrets: [{ name: "rich's key", text: 'SECRETSECRETSECRET' }],
      quietAt: QUIET_AT,
      troubledUntil: QUIET_AT + 5_000,
      troubles: [{ from: 100_000, until: 200_000 }],
      enoughCalmMs: 30_000,
      writingMs: 3_000,
      slackMs: 10_000,
      hasOlderProcesses: false,
    },
    exchanges: [
      ...uploadExchanges(),
      ...otherExchanges(),
      ...GENERATION_CASES.flatMap((testCase) => exchangesOf(testCase, testCase.owner === RICH ? 'rich' : 'poor')),
    ],
    atRest: {
      accounts: [accountOf(RICH, 100), accountOf(POOR, 3)],
      generations: [
        ...GENERATION_CASES.map(recordOf),
        { kind: 'void', generationId: id(50), ...RICH, version: 1, createdAt: 1, dueAt: 1 },
      ],
      uploads: [{ record: UPLOAD, stored: { byteSize: 100, sha256: sha('b') } }],
      objects: [
        { key: 'media/u', byteSize: 100 },
        ...GENERATION_CASES.flatMap((testCase) =>
          outputsOf(testCase).map(({ objectKey, byteSize }) => ({ key: objectKey, byteSize })),
        ),
      ],
      verifyFindings: [],
      texts: [{ where: 'the log of rest-1', text: 'serving' }],
    },
  };
  return structuredClone(history) as Draft<History>;
}
