import { expect } from 'chai';
import fc from 'fast-check';
import { StoreUnavailable } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { type Completed, completeUpload } from '../../../core/uploads/complete-upload.js';
import { prepareUpload } from '../../../core/uploads/prepare-upload.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { codeOf } from '../../fixtures/memory-stores.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { CoreHarness, expectCode } from '../../harness/core-harness.js';
import { complete, prepare, prepareAndSend, send, smuggle, storedBytes } from './upload-steps.js';
import { forAll } from '../../harness/for-all.js';

// Goal: an upload is ready only when the stored bytes match the declaration exactly and can no longer change; a caller
// that does not own it learns nothing of it.
// Method: random declarations and bytes, sent or smuggled in, replaced at the worst moment; every store call is
// interrupted once; the stored bytes are hashed again.

const BYTES = plainImage();
/** Another image of the same length as BYTES. */
const OTHER = plainImage(32, 32);
/** The same length as BYTES, but not an image. */
const JUNK = new Uint8Array(BYTES.byteLength).fill(120);

async function expectReady(harness: CoreHarness, { upload }: Completed, bytes: Uint8Array): Promise<void> {
  const stored = await storedBytes(harness, upload.objectKey);
  expect(stored && sha256Of(stored)).to.equal(sha256Of(bytes));
  expect(upload.ready.sha256).to.equal(sha256Of(bytes));
  expect([upload.status, upload.byteSize]).to.deep.equal(['ready', bytes.byteLength]);
}

describe('completeUpload', () => {
  let harness: CoreHarness;
  beforeEach(async () => {
    harness = await CoreHarness.open();
  });

  it('answers ready exactly if the bytes have the declared length, digest and type', async () => {
    harness = await CoreHarness.open({ settings: { maxUnfinishedUploadsPerApp: 1_000 } });
    const media = fc.record({
      type: fc.constantFrom('image/png' as const, 'image/jpeg' as const, 'image/webp' as const),
      note: fc.constantFrom('', 'a', 'b', 'bb'),
      isJunk: fc.boolean(),
    });
    const bytesOf = (one: { type: 'image/png' | 'image/jpeg' | 'image/webp'; note: string; isJunk: boolean }) =>
      one.isJunk ? new TextEncoder().encode(`${one.type}${one.note}`) : plainImage(8, 8, one.type, one.note);
    await forAll(
      150,
      [media, media, fc.constantFrom('none', 'right', 'other'), fc.constantFrom('none', 'right', 'other')],
      async (said, sent, atPrepare, atCompletion) => {
        const [declared, actual] = [bytesOf({ ...said, isJunk: false }), bytesOf(sent)];
        const digestFor = (which: string) =>
          which === 'none' ? {} : { sha256: sha256Of(which === 'right' ? actual : new Uint8Array(3)) };
        const prepared = await prepare(harness, declared, { media_type: said.type, ...digestFor(atPrepare) });
        await smuggle(harness, prepared, actual);
        const isRight =
          !sent.isJunk &&
          actual.byteLength === declared.byteLength &&
          sent.type === said.type &&
          atPrepare !== 'other' &&
          atCompletion !== 'other';
        const work = complete(harness, prepared.upload.uploadId, digestFor(atCompletion));
        await expectCode(isRight ? 'OK' : 'FIELD_INVALID', work);
        if (isRight) await expectReady(harness, await work, actual);
        else expect(await harness.ports.uploads.read(prepared.upload.uploadId)).to.have.property('status', 'prepared');
      },
    );
  });

  it('never changes a ready upload, for any bytes sent to the target afterwards', async () => {
    const prepared = await prepareAndSend(harness, BYTES);
    const completed = await complete(harness, prepared.upload.uploadId);
    expect(send(harness, prepared, OTHER)).to.equal(200);
    await expectReady(harness, completed, BYTES);
    const again = await complete(harness, prepared.upload.uploadId);
    await expectReady(harness, again, BYTES);
    expect(again.upload.ready.mediaId).to.equal(completed.upload.ready.mediaId);
  });

  for (const [what, replacement] of [
    ['another image', OTHER],
    ['junk', JUNK],
  ] as const) {
    it(`never answers ready for unchecked bytes, whenever they are replaced by ${what}`, async () => {
      let isReached = true;
      for (let index = 0; isReached; index += 1) {
        const prepared = await prepareAndSend(harness, BYTES);
        let calls = 0;
        const racing = harness.process(async (call) => {
          calls += 1;
          if (calls === index + 1) send(harness, prepared, replacement);
          return call.proceed();
        });
        const completed = await complete(harness, prepared.upload.uploadId, {}, prepared.upload.uploadId, racing).catch(
          () => null,
        );
        const stored = completed && (await storedBytes(harness, completed.upload.objectKey));
        if (completed)
          expect(stored && sha256Of(stored), `replaced at call ${index}`).to.equal(completed.upload.ready.sha256);
        if (stored && replacement === JUNK)
          expect(Buffer.from(JUNK).equals(stored), `replaced at call ${index}`).to.equal(false);
        isReached = calls > index;
        expect(calls).to.be.below(60);
      }
    });
  }

  it('accepts other bytes after a refusal, under the same key', async () => {
    const prepared = await prepare(harness, BYTES);
    await expectCode('FIELD_INVALID', complete(harness, prepared.upload.uploadId, {}, 'k'));
    await smuggle(harness, prepared, JUNK);
    await expectCode('FIELD_INVALID', complete(harness, prepared.upload.uploadId, {}, 'k'));
    send(harness, prepared, BYTES);
    await expectReady(harness, await complete(harness, prepared.upload.uploadId, {}, 'k'), BYTES);
  });

  it('replays its answer, and refuses the key for another upload or another body', async () => {
    const [one, two] = [await prepareAndSend(harness, BYTES), await prepareAndSend(harness, BYTES)];
    const first = await complete(harness, one.upload.uploadId, {}, 'k');
    const again = await complete(harness, one.upload.uploadId.toUpperCase(), {}, 'k');
    expect([first.replayed, again.replayed, again.upload]).to.deep.equal([false, true, first.upload]);
    await expectCode('IDEMPOTENCY_PAYLOAD_MISMATCH', complete(harness, two.upload.uploadId, {}, 'k'));
    await expectCode(
      'IDEMPOTENCY_PAYLOAD_MISMATCH',
      complete(harness, one.upload.uploadId, { sha256: sha256Of(BYTES) }, 'k'),
    );
    await expectCode('FIELD_INVALID', complete(harness, one.upload.uploadId, { sha256: sha256Of(OTHER) }));
  });

  it('refuses once the target has expired, and not before', async () => {
    const [early, late] = [await prepareAndSend(harness, BYTES), await prepareAndSend(harness, BYTES)];
    harness.clock.jump(harness.settings.uploadTargetMs);
    await expectCode('OK', complete(harness, early.upload.uploadId));
    harness.clock.jump(1);
    await expectCode('UPLOAD_URL_EXPIRED', complete(harness, late.upload.uploadId));
    await expectCode('OK', complete(harness, early.upload.uploadId), 'ready stays ready');
  });

  it('answers alike for a foreign, a random and a malformed id', async () => {
    const prepared = await prepareAndSend(harness, BYTES);
    const other = await harness.newCaller(0);
    const refusals: unknown[] = [];
    for (const [caller, id] of [
      [other, prepared.upload.uploadId],
      [{ ...harness.caller, appId: other.appId }, prepared.upload.uploadId],
      [harness.caller, '01900000-0000-7000-8000-00000000ffff'],
      [harness.caller, 'x'],
      [harness.caller, `{${prepared.upload.uploadId}}`],
    ] as const) {
      const error = (await completeUpload(harness.context, caller, harness.ports.ids.uuid(), id, {}).catch(
        (refusal: unknown) => refusal,
      )) as Error & { code: string };
      refusals.push([error.code, error.message]);
    }
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal)))).to.have.property('size', 1);
    expect(refusals[0]).to.have.property('0', 'FIELD_INVALID');
  });

  it('has one outcome for many concurrent completions under different keys', async () => {
    const prepared = await prepareAndSend(harness, BYTES);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 4 }, () => complete(harness, prepared.upload.uploadId)),
    );
    const ready = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(ready).not.to.have.length(0);
    expect(new Set(ready.map(({ upload }) => upload.ready.mediaId))).to.have.property('size', 1);
    for (const completed of ready) await expectReady(harness, completed, BYTES);
    await expectReady(harness, await complete(harness, prepared.upload.uploadId), BYTES);
  });

  it('ends ready wherever it is interrupted, when the key is retried', async () => {
    let cuts = 0;
    for (const cut of ['before', 'after'] as const) {
      for (let index = 0; index < 14; index += 1) {
        const prepared = await prepareAndSend(harness, BYTES);
        let calls = 0;
        const copies: string[] = [];
        const broken = harness.process(async (call) => {
          if (call.name === 'objects.copy') copies.push(String(call.args[1]));
          const isIt = calls === index;
          calls += 1;
          if (!isIt) return call.proceed();
          cuts += 1;
          if (cut === 'after') await call.proceed();
          throw new StoreUnavailable('The line broke.');
        });
        await complete(harness, prepared.upload.uploadId, {}, prepared.upload.uploadId, broken).catch(() => undefined);
        harness.clock.jump(harness.settings.claimLeaseMs);
        const completed = await complete(harness, prepared.upload.uploadId, {}, prepared.upload.uploadId);
        await expectReady(harness, completed, BYTES);
        for (const copy of copies) {
          if (copy !== completed.upload.objectKey)
            expect(await storedBytes(harness, copy), 'no copy is left behind').to.equal(null);
        }
      }
    }
    expect(cuts, 'a completion was cut at its calls').to.be.at.least(18);
  });
});

describe('an upload whose bytes are swapped back and forth', () => {
  it('is ready only with the bytes that were checked, at every call where they are swapped', async () => {
    const evil = new Uint8Array(BYTES.byteLength).fill(0x3c);
    for (let swapAt = 0; swapAt < 20; swapAt += 1) {
      const harness = await CoreHarness.open();
      const prepared = await prepare(harness, BYTES);
      await smuggle(harness, prepared, evil);
      let calls = 0;
      const context = harness.process(async (call) => {
        // Valid bytes during a few calls, invalid ones before and after.
        if (calls === swapAt) await smuggle(harness, prepared, BYTES);
        if (calls === swapAt + 2) await smuggle(harness, prepared, evil);
        calls += 1;
        return call.proceed();
      });
      await complete(harness, prepared.upload.uploadId, {}, 'k', context).catch(() => undefined);
      const record = await harness.ports.uploads.read(prepared.upload.uploadId);
      if (record?.kind !== 'upload' || record.status !== 'ready') continue;
      const stored = await storedBytes(harness, record.objectKey);
      expect(sha256Of(stored ?? new Uint8Array()), `swapped at call ${swapAt}`)
        .to.equal(record.ready?.sha256)
        .and.to.equal(sha256Of(BYTES));
    }
  });
});

describe('uploads past retention', () => {
  it('are removed with their bytes, unless a generation used them', async () => {
    const harness = await CoreHarness.open();
    const [used, unused, unsent] = [
      await prepare(harness, BYTES),
      await prepare(harness, BYTES),
      await prepare(harness, BYTES),
    ];
    for (const prepared of [used, unused]) send(harness, prepared, BYTES);
    const [keep, drop] = [
      await complete(harness, used.upload.uploadId),
      await complete(harness, unused.upload.uploadId),
    ];
    harness.clock.jump(harness.settings.uploadRetentionMs - 3_600_000);
    const { generation } = await harness.post('k', harness.body({}, { reference_upload_ids: [used.upload.uploadId] }));
    harness.clock.jump(3_600_000 + 1);
    await harness.clock.run(new Recovery(harness.context).pass());
    expect(await storedBytes(harness, keep.upload.objectKey)).not.to.equal(null);
    expect(generation.references[0]).to.include({ objectKey: keep.upload.objectKey, sha256: sha256Of(BYTES) });
    for (const { upload } of [drop, unsent]) {
      expect(await harness.ports.uploads.read(upload.uploadId))
        .to.include({ kind: 'expired' })
        .and.not.to.have.property('filename');
      expect(await storedBytes(harness, upload.objectKey)).to.equal(null);
    }
    harness.clock.jump(3 * harness.settings.uploadRetentionMs);
    await harness.clock.run(new Recovery(harness.context).pass());
    expect(await storedBytes(harness, keep.upload.objectKey)).to.equal(null);
  });

  it('leave nothing of a copy that appeared after it was abandoned', async () => {
    const harness = await CoreHarness.open();
    const prepared = await prepareAndSend(harness, BYTES);
    const late: (() => Promise<unknown>)[] = [];
    const cut = harness.process(async (call) => {
      if (call.name !== 'objects.copy') return call.proceed();
      late.push(() => call.proceed());
      throw new StoreUnavailable('The line broke.');
    });
    const { uploadId } = prepared.upload;
    for (const key of ['one', 'two'])
      await completeUpload(cut, harness.caller, key, uploadId, {}).catch(() => undefined);
    for (const copy of late) await copy();
    const { upload } = await complete(harness, uploadId);
    const abandoned = upload.abandonedKeys ?? [];
    expect([late.length, abandoned.length]).to.deep.equal([2, 2]);
    expect(await storedBytes(harness, abandoned[0]), 'it came about after the next try had removed it').not.to.equal(
      null,
    );
    harness.clock.jump(harness.settings.uploadRetentionMs + 1);
    await harness.clock.run(new Recovery(harness.context).pass());
    for (const key of [...abandoned, upload.objectKey, upload.stagingKey])
      expect(await storedBytes(harness, key)).to.equal(null);
  });

  it('prevent their key from preparing another one, until the key is free again', async () => {
    const harness = await CoreHarness.open();
    const request = { filename: 'a.png', media_type: 'image/png', byte_size: BYTES.length, role: 'reference_image' };
    const first = await prepareUpload(harness.context, harness.caller, 'once', request);
    harness.clock.jump(harness.settings.uploadRetentionMs + 1);
    await harness.clock.run(new Recovery(harness.context).pass());
    await expectCode('IDEMPOTENCY_REPLAY_EXPIRED', prepareUpload(harness.context, harness.caller, 'once', request));
    harness.clock.jump(2 * harness.settings.claimRetentionMs);
    await harness.clock.run(new Recovery(harness.context).pass());
    expect(await harness.ports.uploads.read(first.upload.uploadId)).to.equal(null);
    expect((await prepareUpload(harness.context, harness.caller, 'once', request)).replayed).to.equal(false);
  });
});

// Goal: a completion's key is answered with the outcome of its own request, and only by a process that holds the key
// and knows that it does.
// Method: requests that die, pause at a store call past the lease of their key, or lose an answer, while the upload is
// completed under the same key or another one; then the key is retried.

const WRONG: JsonObject = { sha256: sha256Of(JUNK) };

describe('the key of a completion', () => {
  let harness: CoreHarness;
  let uploadId: string;

  beforeEach(async () => {
    harness = await CoreHarness.open();
    const prepared = await prepare(harness, BYTES);
    ({ uploadId } = prepared.upload);
    send(harness, prepared, BYTES);
  });

  /** Claims the key, then dies. */
  async function die(body: JsonObject): Promise<void> {
    let calls = 0;
    const dying = harness.process(async (call) => {
      calls += 1;
      if (calls > 1) throw new StoreUnavailable('The process is gone.');
      return call.proceed();
    });
    await complete(harness, uploadId, body, 'k', dying).catch(() => undefined);
  }

  it('is not answered from the success of another key: a request with a wrong checksum is refused, immediately or later', async () => {
    await die(WRONG);
    await expectCode('OK', complete(harness, uploadId, {}, 'other'));
    await expectCode(
      'IDEMPOTENCY_IN_PROGRESS',
      complete(harness, uploadId, WRONG, 'k'),
      'the first request may still be under way',
    );
    harness.clock.jump(harness.settings.claimLeaseMs);
    for (const time of ['first', 'second'])
      await expectCode('FIELD_INVALID', complete(harness, uploadId, WRONG, 'k'), time);
    await expectCode('OK', complete(harness, uploadId, { sha256: sha256Of(BYTES) }, 'k'), 'the refusal freed the key');
  });

  it('waits for the lease of a request of unknown outcome, is then done again, and replays immediately from then on', async () => {
    await die({});
    const other = await complete(harness, uploadId, {}, 'other');
    harness.clock.jump(harness.settings.claimLeaseMs - 1);
    await expectCode('IDEMPOTENCY_IN_PROGRESS', complete(harness, uploadId, {}, 'k'));
    harness.clock.jump(1);
    const done = await complete(harness, uploadId, {}, 'k');
    const again = await complete(harness, uploadId, {}, 'k');
    expect([done.replayed, again.replayed]).to.deep.equal([false, true]);
    expect([done.upload, again.upload]).to.deep.equal([other.upload, other.upload]);
  });

  it('is freed with its replays if it changed nothing, and stays taken after them if it did', async () => {
    await complete(harness, uploadId, {}, 'first');
    await complete(harness, uploadId, {}, 'again');
    harness.clock.jump(harness.settings.replayWindowMs);
    expect(await harness.ports.claims.removeExpired(harness.clock.now() - 1, 10)).to.equal(0);
    expect(await complete(harness, uploadId, {}, 'again'), 'the last moment of its window').to.have.property(
      'replayed',
      true,
    );
    harness.clock.jump(1);
    expect(await harness.ports.claims.removeExpired(harness.clock.now(), 10)).to.equal(1);
    await expectCode('IDEMPOTENCY_REPLAY_EXPIRED', complete(harness, uploadId, {}, 'first'));
  });

  it('returns no refusal once another request has it, whose answer may differ', async () => {
    const prepared = await prepare(harness, BYTES);
    const { uploadId: id } = prepared.upload;
    await smuggle(harness, prepared, JUNK);
    const gate = new Gate();
    const slow = codeOf(
      complete(
        harness,
        id,
        {},
        'k',
        harness.process(async (call) => {
          if (call.name === 'claims.remove') await gate.wait();
          return call.proceed();
        }),
      ),
    );
    await harness.clock.advance(harness.settings.claimLeaseMs);
    expect(gate.reached).to.equal(true);
    send(harness, prepared, BYTES);
    await expectCode('OK', complete(harness, id, {}, 'k'));
    gate.open();
    expect(await slow).to.equal('IDEMPOTENCY_IN_PROGRESS');
    expect(await complete(harness, id, {}, 'k')).to.have.property('replayed', true);
  });

  for (const outcome of ['completed', 'claimed'] as const) {
    it(`returns no success once another request has it, whether that one has ${outcome} yet`, async () => {
      const gate = new Gate();
      const slow = codeOf(
        complete(
          harness,
          uploadId,
          {},
          'k',
          harness.process(async (call) => {
            if (call.name === 'claims.replace') await gate.wait();
            return call.proceed();
          }),
        ),
      );
      await harness.clock.advance(harness.settings.claimLeaseMs);
      expect(gate.reached).to.equal(true);
      if (outcome === 'completed') await complete(harness, uploadId, {}, 'k');
      else {
        const dying = harness.process(async (call) => {
          if (call.name === 'claims.insert' || call.name === 'claims.replace') return call.proceed();
          throw new StoreUnavailable('The process is gone.');
        });
        await complete(harness, uploadId, {}, 'k', dying).catch(() => undefined);
      }
      gate.open();
      expect(await slow).to.equal('IDEMPOTENCY_IN_PROGRESS');
      harness.clock.jump(harness.settings.claimLeaseMs);
      expect(await complete(harness, uploadId, {}, 'k')).to.have.property('replayed', outcome === 'completed');
    });
  }

  for (const [what, body, port, code] of [
    ['success', {}, 'claims.replace', 'OK'],
    ['refusal', WRONG, 'claims.remove', 'FIELD_INVALID'],
  ] as const) {
    for (const cut of ['before', 'after'] as const) {
      it(`returns no ${what} that the store did not record (cut ${cut} the call); a retry of the key finds out`, async () => {
        const broken = harness.process(async (call) => {
          if (call.name !== port) return call.proceed();
          if (cut === 'after') await call.proceed();
          throw new StoreUnavailable('The line broke.');
        });
        const answer = await complete(harness, uploadId, body, 'k', broken).catch((error: unknown) => error);
        expect(answer).to.be.instanceOf(StoreUnavailable);
        await expectCode(cut === 'before' ? 'IDEMPOTENCY_IN_PROGRESS' : code, complete(harness, uploadId, body, 'k'));
        harness.clock.jump(harness.settings.claimLeaseMs);
        await expectCode(code, complete(harness, uploadId, body, 'k'));
      });
    }
  }
});

describe('two completions of one upload under different keys', () => {
  /** Pauses before the call with this number, counted from 0; records where copies go. */
  function sleeping(index: number, gate: Gate, names: string[], copies: Set<string>): Interceptor {
    return async (call) => {
      names.push(call.name);
      if (call.name === 'objects.copy') copies.add(String(call.args[1]));
      if (names.length === index + 1) await gate.wait();
      return call.proceed();
    };
  }

  /** The first pauses, then the second; the first resumes, then the second. Returns the calls they paused at. */
  async function interleaved(firstAt: number, secondAt: number): Promise<[string | undefined, string | undefined]> {
    const harness = await CoreHarness.open();
    const prepared = await prepareAndSend(harness, BYTES);
    const copies = new Set<string>();
    const gates = [new Gate(), new Gate()] as const;
    const names: [string[], string[]] = [[], []];
    const { uploadId } = prepared.upload;
    const first = complete(
      harness,
      uploadId,
      {},
      'first',
      harness.process(sleeping(firstAt, gates[0], names[0], copies)),
    );
    await harness.clock.advance(0);
    const second = complete(
      harness,
      uploadId,
      {},
      'second',
      harness.process(sleeping(secondAt, gates[1], names[1], copies)),
    );
    for (const gate of gates) {
      await harness.clock.advance(0);
      gate.open();
    }
    const [{ upload }, other] = await Promise.all([first, second]);
    const where = `asleep at ${names[0][firstAt]} (${firstAt}) and ${names[1][secondAt]} (${secondAt})`;
    expect(upload, where).to.deep.equal(other.upload);
    expect(await storedBytes(harness, upload.objectKey), where).to.deep.equal(Buffer.from(BYTES));
    copies.delete(upload.objectKey ?? '');
    for (const copy of copies)
      expect(await storedBytes(harness, copy), `no other copy is left, ${where}`).to.equal(null);
    return [gates[0].reached ? names[0][firstAt] : undefined, gates[1].reached ? names[1][secondAt] : undefined];
  }

  it('are answered alike, wherever each of them pauses, and leave one copy', async () => {
    const slept: string[] = [];
    for (let firstAt = 0, isReached = true; isReached; firstAt += 1) {
      for (let secondAt = 0, isSecondReached = true; isSecondReached; secondAt += 1) {
        const [one, other] = await interleaved(firstAt, secondAt);
        isReached = one !== undefined;
        isSecondReached = other !== undefined;
        if (one !== undefined && secondAt === 0) slept.push(one);
      }
    }
    expect(slept).to.include.members([
      'claims.insert',
      'uploads.read',
      'objects.stat',
      'objects.copy',
      'objects.read',
      'objects.remove',
      'claims.replace',
    ]);
    expect(
      slept.filter((name) => name === 'uploads.replace'),
      'the one that says where the copy goes, and the one that says ready',
    ).to.have.length(2);
  });
});
