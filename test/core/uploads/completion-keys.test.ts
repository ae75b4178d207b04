// Goal: a completion's key is answered with the outcome of its own request, and only by a process that holds the key
// and knows that it does.
// Method: requests that die, pause at a store call past the lease of their key, or lose an answer, while the upload is
// completed under the same key or another one; then the key is retried.
import { expect } from 'chai';
import { StoreUnavailable } from '../../../core/errors.js';
import type { JsonObject } from '../../../core/json.js';
import { Gate, type Interceptor } from '../../fixtures/intercepted.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { codeOf } from '../../fixtures/refusals.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { CoreHarness } from '../../harness/core-harness.js';
import { complete, prepare, send, smuggle, storedBytes } from './upload-steps.js';

const BYTES = plainImage();
/** The same length as BYTES, but not an image. */
const JUNK = new Uint8Array(BYTES.byteLength).fill(120);
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
    expect(await codeOf(complete(harness, uploadId, {}, 'other'))).to.equal('OK');
    expect(await codeOf(complete(harness, uploadId, WRONG, 'k')), 'the first request may still be under way').to.equal(
      'IDEMPOTENCY_IN_PROGRESS',
    );
    harness.clock.jump(harness.settings.claimLeaseMs);
    for (const time of ['first', 'second'])
      expect(await codeOf(complete(harness, uploadId, WRONG, 'k')), time).to.equal('FIELD_INVALID');
    expect(
      await codeOf(complete(harness, uploadId, { sha256: sha256Of(BYTES) }, 'k')),
      'the refusal freed the key',
    ).to.equal('OK');
  });

  it('waits for the lease of a request of unknown outcome, is then done again, and replays immediately from then on', async () => {
    await die({});
    const other = await complete(harness, uploadId, {}, 'other');
    harness.clock.jump(harness.settings.claimLeaseMs - 1);
    expect(await codeOf(complete(harness, uploadId, {}, 'k'))).to.equal('IDEMPOTENCY_IN_PROGRESS');
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
    expect(await codeOf(complete(harness, uploadId, {}, 'first'))).to.equal('IDEMPOTENCY_REPLAY_EXPIRED');
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
    expect(await codeOf(complete(harness, id, {}, 'k'))).to.equal('OK');
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
        expect(await codeOf(complete(harness, uploadId, body, 'k'))).to.equal(
          cut === 'before' ? 'IDEMPOTENCY_IN_PROGRESS' : code,
        );
        harness.clock.jump(harness.settings.claimLeaseMs);
        expect(await codeOf(complete(harness, uploadId, body, 'k'))).to.equal(code);
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
    const prepared = await prepare(harness, BYTES);
    send(harness, prepared, BYTES);
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
