// Goal: after any sequence of prepares, sends, completions, creates and cancels, the data that the service stores for
// an account is within the bounds, except for the overshoot of concurrent requests. Method: random histories on a clock
// that only the test moves, against a model that does not know how the stores count: it predicts every refusal and
// every sum, and the bytes in the object store are checked after every step.
import { expect } from 'chai';
import fc from 'fast-check';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import type { Context } from '../../core/context.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { cancelGeneration } from '../../core/generation/end-generation.js';
import { Recovery } from '../../core/recovery/recover.js';
import { completeUpload } from '../../core/uploads/complete-upload.js';
import { prepareUpload } from '../../core/uploads/prepare-upload.js';
import { streamOf } from '../fixtures/byte-streams.js';
import type { ManualClock } from '../fixtures/clocks.js';
import { newOwner } from '../fixtures/memory-stores.js';
import { plainImage } from '../fixtures/plain-media.js';
import { sizeOf } from '../harness/run-sizes.js';
import { type OpenedStores, openMemoryStores, openSqliteStores, StoreHarness } from './store-harness.js';
import { forAll } from '../harness/for-all.js';

const BOUNDS = {
  maxUnfinishedUploadsPerApp: 3,
  maxStoredUploadsPerApp: 6,
  maxStoredUploadBytesPerApp: 3_000,
  maxUnchargedContentBytesPerAccount: 9_000,
};
const MAX_BATCH = 4;
const MAX_NOTE = 900;
const HOUR_MS = 3_600_000;
const MIN_BYTES = 2_048;

type Step =
  | { readonly kind: 'prepare' | 'create'; readonly count: number; readonly size: number }
  | { readonly kind: 'send' | 'complete' | 'cancel'; readonly nth: number }
  | { readonly kind: 'wait'; readonly forMs: number };

const many = fc.record({
  kind: fc.constantFrom('prepare' as const, 'create' as const),
  count: fc.integer({ min: 1, max: MAX_BATCH }),
  size: fc.integer({ min: 1, max: MAX_NOTE }),
});
const oneOfThem = fc.record({
  kind: fc.constantFrom('send' as const, 'complete' as const, 'cancel' as const),
  nth: fc.nat({ max: 12 }),
});
const wait = fc.record({
  kind: fc.constant('wait' as const),
  forMs: fc.constantFrom(60_000, 17 * 60_000, 8 * HOUR_MS, 25 * HOUR_MS),
});
const STEPS: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof({ weight: 3, arbitrary: many }, { weight: 6, arbitrary: oneOfThem }, { weight: 1, arbitrary: wait }),
  { minLength: 10, maxLength: 60 },
);

interface ModelUpload {
  readonly id: string;
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly madeAt: number;
  sent: boolean;
  readyAt?: number;
  isSwept: boolean;
}
interface ModelGeneration {
  readonly id: string;
  readonly bytes: number;
  endedAt?: number;
}

class History {
  private uploads: ModelUpload[] = [];
  private generations: ModelGeneration[] = [];
  private keys = 0;

  private constructor(
    private readonly harness: StoreHarness,
    private readonly context: Context,
    private readonly caller: Caller,
  ) {}

  static async begin(harness: StoreHarness): Promise<History> {
    const context: Context = { ...harness.context, settings: { ...harness.settings, ...BOUNDS } };
    const owner = await harness.clock.run(newOwner(context, 'Full', 1_000_000));
    return new History(harness, context, { ...owner, credentialId: harness.ids.uuid(), scopes: SCOPES });
  }

  async take(step: Step): Promise<void> {
    if ('count' in step) await this[step.kind](step.count, step.size);
    else if ('nth' in step) await this[step.kind](step.nth);
    else await this.wait(step.forMs);
    await this.look();
  }

  private async prepare(count: number, size: number): Promise<void> {
    const bytes = plainImage(8, 8, 'image/png', 'x'.repeat(size));
    const isFull =
      this.unfinished >= BOUNDS.maxUnfinishedUploadsPerApp ||
      this.uploads.length >= BOUNDS.maxStoredUploadsPerApp ||
      this.declaredBytes + bytes.byteLength > BOUNDS.maxStoredUploadBytesPerApp;
    const body = { filename: 'a.png', media_type: 'image/png', byte_size: bytes.byteLength, role: 'reference_image' };
    const madeAt = this.harness.clock.now();
    const codes = await Promise.all(
      Array.from({ length: count }, async () =>
        codeOf(async () => {
          const { upload } = await prepareUpload(this.context, this.caller, this.newKey(), body);
          this.uploads.push({
            id: upload.uploadId,
            key: upload.stagingKey,
            bytes,
            madeAt,
            sent: false,
            isSwept: false,
          });
        }),
      ),
    );
    requireRefused(codes, isFull);
  }

  /** Behaves like an S3 store: until the target expires it accepts bytes, whatever the state of the upload. */
  private async send(nth: number): Promise<void> {
    const upload = this.uploads[nth];
    if (!upload || this.harness.clock.now() >= this.expiryOf(upload)) return;
    await this.context.objects.write(upload.key, streamOf(upload.bytes), { mediaType: 'image/png', maxBytes: 10_000 });
    upload.sent = true;
  }

  private async complete(nth: number): Promise<void> {
    const upload = this.uploads[nth];
    if (!upload) return;
    const now = this.harness.clock.now();
    const expected =
      upload.readyAt !== undefined
        ? 'OK'
        : now > this.expiryOf(upload)
          ? 'UPLOAD_URL_EXPIRED'
          : upload.sent
            ? 'OK'
            : 'FIELD_INVALID';
    expect(await codeOf(() => completeUpload(this.context, this.caller, this.newKey(), upload.id, {}))).to.equal(
      expected,
    );
    if (expected !== 'OK' || upload.readyAt !== undefined) return;
    upload.readyAt = now;
    upload.sent = false;
  }

  private async create(count: number, size: number): Promise<void> {
    const prompt = 'ü'.repeat(size * 4);
    const isFull = this.unchargedBytes >= BOUNDS.maxUnchargedContentBytesPerAccount;
    const codes = await Promise.all(
      Array.from({ length: count }, async () =>
        codeOf(async () => {
          const body = { model_key: 'plain-image', operation: 'image_generation', prompt, parameters: {} };
          const { generation } = await createGeneration(this.context, this.caller, this.newKey(), body);
          const bytes = Buffer.byteLength(JSON.stringify([prompt, undefined, generation.parameters, []]));
          this.generations.push({ id: generation.generationId, bytes: Math.max(MIN_BYTES, bytes) });
        }),
      ),
    );
    requireRefused(codes, isFull);
  }

  private async cancel(nth: number): Promise<void> {
    const generation = this.generations[nth];
    if (!generation || generation.endedAt !== undefined) return;
    await this.harness.clock.run(cancelGeneration(this.context, this.caller, generation.id));
    generation.endedAt = this.harness.clock.now();
  }

  /** Advances time, and runs recovery until it finds nothing more. */
  private async wait(forMs: number): Promise<void> {
    this.harness.clock.jump(forMs);
    for (let pass = 0; pass < 3; pass += 1) await this.harness.clock.run(new Recovery(this.context).pass());
    const now = this.harness.clock.now();
    const { uploadRetentionMs, claimLeaseMs, recoveryGraceMs } = this.context.settings;
    this.uploads = this.uploads.filter(({ readyAt, madeAt }) => now < (readyAt ?? madeAt) + uploadRetentionMs);
    for (const upload of this.uploads)
      if (now >= this.expiryOf(upload) + claimLeaseMs + recoveryGraceMs)
        Object.assign(upload, { isSwept: true, sent: false });
    this.generations = this.generations.filter(
      ({ endedAt = now }) => now < endedAt + this.context.settings.unchargedContentRetentionMs,
    );
  }

  private async look(): Promise<void> {
    const { uploads, generations, objects } = this.context;
    const { accountId, appId } = this.caller;
    const bytes = this.declaredBytes;
    expect(await uploads.usage(accountId, appId)).to.deep.equal({
      uploads: this.uploads.length,
      unfinished: this.unfinished,
      bytes,
    });
    const ended = this.generations.filter(({ endedAt }) => endedAt !== undefined);
    expect(await generations.stored(accountId, 'uncharged')).to.deep.equal({
      generations: ended.length,
      bytes: this.unchargedBytes,
    });

    const beside = MAX_BATCH - 1;
    const largest = plainImage(8, 8, 'image/png', 'x'.repeat(MAX_NOTE)).byteLength;
    expect(this.unfinished).to.be.at.most(BOUNDS.maxUnfinishedUploadsPerApp + beside);
    expect(this.uploads.length).to.be.at.most(BOUNDS.maxStoredUploadsPerApp + beside);
    expect(bytes).to.be.at.most(BOUNDS.maxStoredUploadBytesPerApp + beside * largest);
    // Bytes sent again to a completed target stay until they are swept, and are not more than were completed.
    let kept = 0;
    for (const upload of this.uploads) {
      const staged = await objects.stat(upload.key);
      expect(staged?.byteSize ?? 0, 'bytes at a target').to.equal(upload.sent ? upload.bytes.byteLength : 0);
      kept += (staged?.byteSize ?? 0) + (upload.readyAt === undefined ? 0 : upload.bytes.byteLength);
    }
    expect(kept).to.be.at.most(2 * (BOUNDS.maxStoredUploadBytesPerApp + beside * largest));
  }

  private get unfinished(): number {
    return this.uploads.filter(({ readyAt, isSwept }) => readyAt === undefined && !isSwept).length;
  }

  private get declaredBytes(): number {
    return sum(
      this.uploads
        .filter(({ readyAt, isSwept }) => readyAt !== undefined || !isSwept)
        .map(({ bytes }) => bytes.byteLength),
    );
  }

  private get unchargedBytes(): number {
    return sum(this.generations.flatMap(({ endedAt, bytes }) => (endedAt === undefined ? [] : bytes)));
  }

  private expiryOf({ madeAt }: ModelUpload): number {
    return madeAt + this.context.settings.uploadTargetMs;
  }

  private newKey(): string {
    this.keys += 1;
    return `key-${this.keys}`;
  }
}

/** If there was no room before, all are refused; otherwise at least one is accepted. */
function requireRefused(codes: readonly string[], isFull: boolean): void {
  expect(codes.filter((code) => code !== 'OK' && code !== 'QUEUE_FULL')).to.deep.equal([]);
  expect(codes.includes('OK')).to.equal(!isFull);
}

async function codeOf(work: () => Promise<unknown>): Promise<string> {
  return work().then(
    () => 'OK',
    (error: unknown) => (error as { readonly code?: string }).code ?? String(error),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

async function play(open: (clock: ManualClock) => Promise<OpenedStores>, steps: readonly Step[]): Promise<void> {
  const harness = await StoreHarness.open(open);
  try {
    const history = await History.begin(harness);
    for (const step of steps) await history.take(step);
  } finally {
    await harness.close();
  }
}

describe('the stored data of an account stays within its bounds', () => {
  it('in memory', () => forAll(sizeOf('keptBytesInMemory'), [STEPS], (steps) => play(openMemoryStores, steps)));

  it('in SQLite and files', () =>
    forAll(sizeOf('keptBytesOnSqlite'), [STEPS], (steps) => play(openSqliteStores, steps)));
});
