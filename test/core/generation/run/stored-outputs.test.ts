import { expect } from 'chai';
import { StoreUnavailable } from '../../../../core/errors.js';
import type { Generation } from '../../../../core/generation/generation.js';
import { outputKey } from '../../../../core/generation/run/collect-outputs.js';
import type { MediaCleaner } from '../../../../core/ports/media.js';
import type { OutputSigner, UnsignedFile } from '../../../../core/ports/output-signer.js';
import { Recovery } from '../../../../core/recovery/recover.js';
import { breakingOff, bytesOf, collected, readableAgain, streamOf } from '../../../fixtures/byte-streams.js';
import type { Interceptor, PortCall } from '../../../fixtures/intercepted.js';
import { imageModel } from '../../../fixtures/models.js';
import { plainImage } from '../../../fixtures/plain-media.js';
import { expectAtRest } from '../../../fixtures/recovery-passes.js';
import { PROMISES } from '../../../fixtures/scripted-provider.js';
import { CoreHarness, CoreWorker, Life, untilSettled, outcomeOf } from '../../../harness/core-harness.js';

// Goal: delivered outputs are what the object store keeps, complete and without metadata, and a call that arrives long
// after it was abandoned cannot change them.
// Method: a store that keeps less than it reports, and calls that take effect after they failed; each read of an output
// returns different bytes, so that a late write over a delivered output is detected.

const JUNK = bytesOf('junk');

async function open({ firstIsJunk = false } = {}): Promise<CoreHarness> {
  const harness = await CoreHarness.open();
  let reads = 0;
  harness.provider.onOutput = async () => {
    reads += 1;
    return streamOf(firstIsJunk && reads === 1 ? JUNK : plainImage(64, 64, 'image/png', `read ${reads}`));
  };
  return harness;
}

/** The bytes of each output are stored, with the size and digest that the output states. */
async function expectDelivered(harness: CoreHarness, g: Generation, count: number): Promise<void> {
  expect(outcomeOf(harness, g)).to.include({
    status: 'succeeded',
    outputs: count,
    chargedCredits: 10 * count,
    attemptsMade: 1,
  });
  for (const { objectKey, byteSize, sha256 } of g.outputs) {
    const bytes = await harness.ports.objects.read(objectKey);
    expect(bytes && (await harness.ports.digests.ofBytes(bytes)), objectKey).to.deep.equal({ byteSize, sha256 });
  }
  expect(harness.provider.submissions).to.have.length(1);
}

describe('an output that the store kept only in part', () => {
  /** Reports all bytes of this many writes as stored, and keeps none of them, or all but the last. */
  function keeping(kept: 'none' | 'all but the last', harness: CoreHarness, times: number): Interceptor {
    let left = times;
    return async (call) => {
      const answer = await call.proceed();
      if (call.name !== 'objects.write' || left === 0) return answer;
      left -= 1;
      const [key, { objects }] = [String(call.args[0]), harness.ports];
      const whole = await collected((await objects.read(key)) ?? streamOf(new Uint8Array()));
      await objects.remove(key);
      if (kept !== 'none')
        await objects.write(key, streamOf(whole.slice(0, -1)), { mediaType: 'image/png', maxBytes: 1_000 });
      return answer;
    };
  }

  for (const kept of ['none', 'all but the last'] as const) {
    it(`is stored again, and delivered only complete (${kept} of its bytes)`, async () => {
      const harness = await open();
      await CoreWorker.start(harness, 'worker', keeping(kept, harness, 3));
      await expectDelivered(harness, await untilSettled(harness, (await harness.create({ count: 2 })).generationId), 2);
      await expectAtRest(harness, 1);
    });

    it(`fails the generation at its deadline, uncharged, as the store's fault (${kept} of its bytes)`, async () => {
      const harness = await open();
      await CoreWorker.start(harness, 'worker', keeping(kept, harness, Infinity));
      const g = await untilSettled(harness, (await harness.create()).generationId);
      expect(outcomeOf(harness, g)).to.include({
        status: 'failed',
        code: 'OUTPUT_STORE_FAILED',
        chargedCredits: 0,
        outputs: 0,
      });
      expect(g.completedAt).to.be.at.least(g.runDeadlineAt ?? Infinity);
      expect(harness.provider.submissions, 'nothing was wrong with what the provider made').to.have.length(1);
      expect(await harness.account()).to.include({ spent: 0, available: 1_000, reserved: 0 });
    });
  }
});

describe('the metadata of an output', () => {
  it('is removed before the output is stored, and what is left is counted and delivered', async () => {
    const harness = await open();
    const clean = plainImage(64, 64, 'image/png', 'clean');
    const given: Uint8Array[] = [];
    const mediaCleaner: MediaCleaner = {
      clean: (bytes) => ({
        bytes: (async function* () {
          given.push(await collected(bytes));
          yield clean;
        })(),
        secondPass: () => undefined,
      }),
    };
    const stored: Uint8Array[] = [];
    const worker = CoreWorker.idle(
      harness,
      'worker',
      async (call) => {
        if (call.name !== 'objects.write') return call.proceed();
        const answer = await call.proceed();
        stored.push(await collected((await harness.ports.objects.read(String(call.args[0]))) ?? streamOf(JUNK)));
        return answer;
      },
      { mediaCleaner },
    );
    await worker.context.wakeUps.start(({ id }) => worker.dispatcher.deliver(id), 10_000);
    await expectDelivered(harness, await untilSettled(harness, (await harness.create({ count: 2 })).generationId), 2);
    expect(stored).to.deep.equal([clean, clean]);
    expect(given.map((bytes) => Buffer.from(bytes).toString())).to.deep.equal([
      'PLAIN image/png 64x64 read 1',
      'PLAIN image/png 64x64 read 2',
    ]);
  });
});

describe('an output that is cleaned once more', () => {
  const marks = { mark: { sourceType: 'trainedAlgorithmicMedia' }, manifests: 'keep' } as const;
  const first = plainImage(64, 64, 'image/png', 'first pass');
  const second = plainImage(64, 64, 'image/png', 'second pass');

  /** Asks for a second pass, which has to be given what the first one made. */
  const mediaCleaner: MediaCleaner = {
    clean(bytes, options) {
      const isSecond = options.manifests === 'drop';
      if (!isSecond) expect(options).to.deep.equal(marks);
      return {
        bytes: (async function* () {
          const given = Buffer.from(await collected(bytes)).toString();
          yield isSecond && given.endsWith('first pass') ? second : first;
        })(),
        secondPass: () => (isSecond ? undefined : { ...options, manifests: 'drop' }),
      };
    },
  };

  /** Every key that was written, also by calls that failed. */
  const keys = new Set<string>();
  function newWorker(harness: CoreHarness, name: string, interceptor: Interceptor = (call) => call.proceed()) {
    return CoreWorker.idle(
      harness,
      name,
      async (call) => {
        if (call.name === 'objects.write') keys.add(String(call.args[0]));
        return interceptor(call);
      },
      { mediaCleaner },
    );
  }

  async function working(...of: Parameters<typeof newWorker>): Promise<void> {
    const worker = newWorker(...of);
    await worker.context.wakeUps.start(({ id }) => worker.dispatcher.deliver(id), 10_000);
  }

  async function keptKeys(harness: CoreHarness): Promise<readonly string[]> {
    const facts = await Promise.all(
      [...keys].map(async (key) => ((await harness.ports.objects.stat(key)) ? [key] : [])),
    );
    return facts.flat();
  }

  async function expectSecondPass(harness: CoreHarness, g: Generation, count: number): Promise<void> {
    await expectDelivered(harness, g, count);
    for (const { objectKey, mark } of g.outputs) {
      expect(await collected((await harness.ports.objects.read(objectKey))!)).to.deep.equal(second);
      expect(mark).to.deep.equal(marks.mark);
    }
  }

  async function expectNothingLeft(harness: CoreHarness): Promise<void> {
    await expectAtRest(harness, 1);
    harness.clock.jump(harness.settings.outputRetentionMs);
    await harness.clock.run(new Recovery(harness.context).pass());
    expect(await keptKeys(harness)).to.deep.equal([]);
  }

  const inTheAnswer = (harness: CoreHarness, count: number) => {
    harness.provider.promised = { ...PROMISES, answersWithOutputs: true, isAskedBy: 'nothing', cancels: 'nothing' };
    harness.provider.submitScript = [{ deliver: Array.from({ length: count }, () => readableAgain(plainImage())) }];
  };

  beforeEach(() => keys.clear());

  for (const [where, prepare] of [
    ['fetched', () => undefined],
    ['in the answer', inTheAnswer],
  ] as const) {
    it(`goes to another key, and its first one is removed (${where})`, async () => {
      const harness = await open();
      prepare(harness, 2);
      await working(harness, 'worker');
      const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
      await expectSecondPass(harness, g, 2);
      expect([keys.size, await keptKeys(harness)]).to.deep.equal([4, g.outputs.map(({ objectKey }) => objectKey)]);
      await expectNothingLeft(harness);
    });

    for (const name of ['objects.write', 'objects.read', 'objects.remove', 'generations.replace']) {
      for (const cut of ['before', 'after'] as const) {
        it(`is not lost where a call of ${name} fails ${cut} its work (${where})`, async () => {
          let calls = Infinity;
          let isCut = true;
          for (let nth = 0; isCut; nth += 1) {
            keys.clear();
            calls = 0;
            isCut = false;
            const harness = await open();
            prepare(harness, 1);
            await working(harness, 'worker', async (call) => {
              if (call.name !== name || keys.size === 0 || calls++ !== nth) return call.proceed();
              isCut = true;
              if (cut === 'after') await call.proceed();
              throw new StoreUnavailable('The line broke.');
            });
            const { generationId } = await harness.create();
            await harness.clock.advance(60_000);
            await harness.clock.run(new Recovery(harness.context).pass());
            await expectSecondPass(harness, await untilSettled(harness, generationId), 1);
            await expectNothingLeft(harness);
          }
          expect(calls, 'the call is made').to.be.above(0);
        });
      }
    }

    it(`is delivered by another worker where one dies between the passes (${where})`, async () => {
      for (const dyingCall of ['objects.read', 'objects.remove']) {
        const harness = await open();
        if (where === 'in the answer') harness.models = [imageModel({ onUnknownAcceptance: 'resubmit' })];
        prepare(harness, 1);
        const [script] = harness.provider.submitScript;
        harness.provider.submitScript = where === 'in the answer' ? [script!, script!] : harness.provider.submitScript;
        harness.provider.recoverScript = where === 'in the answer' ? 'unsupported' : harness.provider.recoverScript;
        const life = new Life();
        await working(harness, 'first', async (call) => {
          if (call.name === dyingCall && keys.size > 0) life.isDead = true;
          return life.interceptor(call);
        });
        const { generationId } = await harness.create();
        await harness.clock.until(() => life.isDead, 'the first worker has died');
        await harness.clock.advance(harness.settings.leaseMs + 1);
        void newWorker(harness, 'second').dispatcher.deliver(generationId);
        const g = await untilSettled(harness, generationId);
        expect([g.status, g.outputs.length, g.chargedCredits]).to.deep.equal(['succeeded', 1, 10]);
        expect(await collected((await harness.ports.objects.read(g.outputs[0]!.objectKey))!)).to.deep.equal(second);
        await expectNothingLeft(harness);
      }
    });
  }
});

describe('a call on output bytes that arrives long after it was abandoned', () => {
  /** The first call of this name fails at once; `arrive` makes it take effect after all. */
  class GivenUp {
    private call: PortCall | undefined;

    constructor(
      private readonly name: string,
      private readonly onCall: (call: PortCall) => Promise<void> = async () => undefined,
    ) {}

    readonly interceptor: Interceptor = async (call) => {
      if (call.name === this.name && !this.call) {
        this.call = call;
        throw new StoreUnavailable('There was no answer in time.');
      }
      await this.onCall(call);
      return call.proceed();
    };

    async arrive(): Promise<void> {
      if (!this.call) throw new Error(`Nothing was given up: there was no ${this.name}.`);
      await this.call.proceed();
    }
  }

  for (const name of ['objects.write', 'objects.remove']) {
    it(`does not change a delivered output (${name})`, async () => {
      const harness = await open({ firstIsJunk: name === 'objects.remove' });
      const late = new GivenUp(name);
      await CoreWorker.start(harness, 'worker', late.interceptor);
      const g = await untilSettled(harness, (await harness.create()).generationId);
      await late.arrive();
      await expectDelivered(harness, g, 1);
    });

    it(`does not change an output about to be delivered (${name})`, async () => {
      const harness = await open({ firstIsJunk: name === 'objects.remove' });
      const late: GivenUp = new GivenUp(name, async (call) => {
        // The end is about to be written: everything was stored and checked.
        if (call.name === 'generations.replace' && (call.args[0] as Generation).status === 'succeeded')
          await late.arrive();
      });
      await CoreWorker.start(harness, 'worker', late.interceptor);
      await expectDelivered(harness, await untilSettled(harness, (await harness.create()).generationId), 1);
    });
  }
});

describe('outputs that are collected again', () => {
  it('go to new keys each time, under a new fence, after any failure', async () => {
    const harness = await open();
    const { onOutput } = harness.provider;
    let reads = 0;
    harness.provider.onOutput = async (task, index) => {
      reads += 1;
      if (reads === 2) throw new Error('The line to the provider broke.');
      return onOutput(task, index);
    };
    const keys: string[] = [];
    await CoreWorker.start(harness, 'worker', async (call) => {
      if (call.name !== 'objects.write') return call.proceed();
      keys.push(String(call.args[0]));
      if (keys.length <= 4) throw new StoreUnavailable('The disk is full.');
      return call.proceed();
    });
    const g = await untilSettled(harness, (await harness.create()).generationId);
    await expectDelivered(harness, g, 1);
    expect(keys).to.have.length(5);
    expect(new Set(keys), keys.join()).to.have.property('size', 5);
    expect([keys.at(-1), g.fence]).to.deep.equal([g.outputs[0]?.objectKey, 6]);
  });

  for (const isRemovalAway of [false, true])
    it(`leave none of their keys behind: ${isRemovalAway ? 'retention removes what could not be removed before' : 'a former fence is cleared at once'}`, async () => {
      const harness = await open();
      const keys: string[] = [];
      await CoreWorker.start(harness, 'worker', async (call) => {
        if (call.name === 'objects.remove' && isRemovalAway) throw new StoreUnavailable('The store is away.');
        const answer = await call.proceed();
        if (call.name !== 'objects.write') return answer;
        keys.push(String(call.args[0]));
        // The second output is stored twice, but the answer is lost. The first one is not fetched again.
        if (keys.length === 2 || keys.length === 3) throw new StoreUnavailable('The answer was lost.');
        return answer;
      });
      const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
      await expectDelivered(harness, g, 2);
      const kept = async () =>
        (await Promise.all(keys.map((key) => harness.ports.objects.stat(key)))).filter((facts) => facts !== null)
          .length;
      expect([keys.length, await kept()], 'four keys, two of them delivered').to.deep.equal([4, isRemovalAway ? 4 : 2]);
      harness.clock.jump(harness.settings.outputRetentionMs);
      await harness.clock.run(new Recovery(harness.context).pass());
      expect(await kept()).to.equal(0);
    });

  for (const cut of ['before', 'after'] as const) {
    it(`are left to the next holder when it is not known whether the new fence was given (cut ${cut} the write)`, async () => {
      const harness = await open();
      const keys: string[] = [];
      let isCut = false;
      const worker = await CoreWorker.start(harness, 'worker', async (call) => {
        if (call.name === 'objects.write') {
          keys.push(String(call.args[0]));
          if (keys.length === 1) throw new StoreUnavailable('The disk is full.');
        }
        if (isCut || call.name !== 'generations.replace' || (call.args[0] as Generation).fence !== 2)
          return call.proceed();
        isCut = true;
        if (cut === 'after') await call.proceed();
        throw new StoreUnavailable('The answer was lost.');
      });
      const { generationId } = await harness.create();
      await harness.clock.advance(10_000);
      expect([isCut, worker.dispatcher.counts.running, keys.length]).to.deep.equal([true, 0, 1]);
      expect(harness.warnings.map(({ event }) => event)).to.include('run abandoned');
      await harness.clock.advance(harness.settings.leaseMs + 2_000);
      await harness.clock.run(new Recovery(harness.context).pass());
      const g = await untilSettled(harness, generationId);
      await expectDelivered(harness, g, 1);
      expect([g.fence, new Set(keys).size]).to.deep.equal([cut === 'after' ? 3 : 2, 2]);
      await expectAtRest(harness, 1);
    });
  }
});

describe('an output that never arrives', () => {
  it('is fetched until the deadline and then left out, and the others are delivered and charged', async () => {
    const harness = await CoreHarness.open();
    let tries = 0;
    harness.provider.onOutput = async (_, index) => {
      if (index === 1) return streamOf(plainImage());
      tries += 1;
      return breakingOff(plainImage().subarray(0, 20));
    };
    await CoreWorker.start(harness);
    const g = await untilSettled(harness, (await harness.create({ count: 2 })).generationId);
    expect(tries).to.be.above(4);
    expect(g.completedAt).to.be.above(g.runDeadlineAt ?? Infinity);
    expect(harness.provider.submissions).to.have.length(1);
    await expectDelivered(harness, g, 1);
  });
});

// Goal: a signer signs each output once, after its metadata is gone; a signer that fails, waits or breaks a file never
// loses an output; and in the end only the delivered objects remain.
// Method: signers that add bytes, refuse, never answer, answer with junk, or meet a store that fails.

const SIGNATURE = ' signed';

/** Appends a signature, and records its inputs. */
class AppendingSigner implements OutputSigner {
  readonly given: { readonly file: UnsignedFile; readonly text: string }[] = [];

  async sign(file: UnsignedFile): Promise<AsyncIterable<Uint8Array>> {
    const bytes = await collected(await file.open());
    this.given.push({ file, text: Buffer.from(bytes).toString() });
    return streamOf(Buffer.concat([bytes, bytesOf(SIGNATURE)]));
  }
}

interface RunOptions {
  readonly count?: number;
  readonly interceptor?: Interceptor;
  /** Whether the provider answers the submission with the outputs. */
  readonly isInTheAnswer?: boolean;
  readonly runTimeoutMs?: number;
}

async function run(
  outputSigner: OutputSigner,
  { count = 2, interceptor, isInTheAnswer = false, runTimeoutMs }: RunOptions = {},
): Promise<{ harness: CoreHarness; g: Generation; texts: string[] }> {
  const harness = await CoreHarness.open(
    runTimeoutMs === undefined ? {} : { models: [imageModel({ runTimeoutMs, maxAttempts: 1 })] },
  );
  let outputs = 0;
  const output = () => plainImage(64, 64, 'image/png', `output ${(outputs += 1)}`);
  harness.provider.onOutput = async () => streamOf(output());
  if (isInTheAnswer) {
    harness.provider.promised = { ...PROMISES, answersWithOutputs: true, isAskedBy: 'nothing', cancels: 'nothing' };
    harness.provider.submitScript = [{ deliver: Array.from({ length: count }, () => readableAgain(output())) }];
  }
  const worker = CoreWorker.idle(harness, 'worker', interceptor, { outputSigner });
  await worker.context.wakeUps.start(({ id }) => worker.dispatcher.deliver(id), 10_000);
  const g = await untilSettled(harness, (await harness.create({ count })).generationId);
  const texts: string[] = [];
  for (const { objectKey, byteSize, sha256 } of g.outputs) {
    const bytes = await collected((await harness.ports.objects.read(objectKey)) ?? streamOf(new Uint8Array()));
    expect(await harness.ports.digests.ofBytes(streamOf(bytes))).to.deep.equal({ byteSize, sha256 });
    texts.push(Buffer.from(bytes).toString());
  }
  expect(outcomeOf(harness, g)).to.include({
    status: 'succeeded',
    outputs: count,
    chargedCredits: 10 * count,
    submissions: 1,
  });
  return { harness, g, texts };
}

const plain = (index: number) => `PLAIN image/png 64x64 output ${index}`;

describe('a signer of outputs', () => {
  it('signs each output once, and the signed files are delivered', async () => {
    const signer = new AppendingSigner();
    const { harness, g, texts } = await run(signer);
    expect(texts).to.deep.equal([plain(1) + SIGNATURE, plain(2) + SIGNATURE]);
    expect(signer.given.map(({ text }) => text)).to.deep.equal([plain(1), plain(2)]);
    for (const { file } of signer.given) {
      expect(file).to.include({ mediaType: 'image/png' });
      expect(file.mark).to.deep.equal({ sourceType: 'trainedAlgorithmicMedia' });
    }
    const stored: string[] = [];
    for (let fence = 0; fence <= g.fence; fence += 1)
      for (let index = 0; index < 2; index += 1) {
        const key = outputKey(g.generationId, fence, index);
        if ((await harness.ports.objects.stat(key)) !== null) stored.push(key);
      }
    expect(stored.toSorted(), 'no unsigned file is left').to.deep.equal(
      g.outputs.map(({ objectKey }) => objectKey).toSorted(),
    );
  });

  const FAILING: readonly (readonly [what: string, signer: OutputSigner])[] = [
    ['signs nothing', { sign: async () => null }],
    [
      'fails',
      {
        sign: async () => {
          throw new Error('The key has expired.');
        },
      },
    ],
    ['never answers', { sign: async () => new Promise(() => undefined) }],
    ['answers with other media', { sign: async () => streamOf(plainImage(32, 32)) }],
    ['answers with junk', { sign: async () => streamOf(bytesOf('junk')) }],
    ['adds more than a signature may have', { sign: async () => streamOf(new Uint8Array(2 * 1024 * 1024)) }],
  ];
  for (const [what, signer] of FAILING) {
    it(`costs no output where it ${what}`, async () => {
      const { harness, texts } = await run(signer);
      expect(texts).to.deep.equal([plain(1), plain(2)]);
      const warnings = harness.warnings.filter(({ event }) => event === 'output not signed');
      expect(warnings).to.have.length(what === 'signs nothing' ? 0 : 2);
    });
  }

  for (const isInTheAnswer of [false, true]) {
    const where = isInTheAnswer ? 'in the answer' : 'fetched';

    it(`stores no file of a signer that returns it too late, and frees it (${where})`, async () => {
      const late: (() => void)[] = [];
      let freed = 0;
      const signer: OutputSigner = {
        sign: (file) =>
          new Promise((resolve) => {
            const signed = async function* () {
              try {
                yield await collected(await file.open());
                yield bytesOf(SIGNATURE);
              } finally {
                freed += 1;
              }
            };
            late.push(() => resolve(signed()));
          }),
      };
      const { harness, g, texts } = await run(signer, { isInTheAnswer });
      expect(texts).to.deep.equal([plain(1), plain(2)]);
      for (const resolve of late) resolve();
      await harness.clock.advance(0);
      expect(freed).to.equal(2);
      expect((await harness.generation(g.generationId)).fence).to.equal(g.fence);
    });

    it(`keeps an output whose unsigned file cannot be removed (${where})`, async () => {
      let removals = 0;
      const { texts } = await run(new AppendingSigner(), {
        isInTheAnswer,
        interceptor: async (call) => {
          if (call.name !== 'objects.remove') return call.proceed();
          removals += 1;
          throw new StoreUnavailable('The line broke.');
        },
      });
      expect([texts, removals]).to.deep.equal([[plain(1) + SIGNATURE, plain(2) + SIGNATURE], 2]);
    });
  }

  it('costs no output of an answer where it hangs until the time of the task is over', async () => {
    const signer: OutputSigner = { sign: async () => new Promise(() => undefined) };
    const { texts } = await run(signer, { isInTheAnswer: true, count: 4, runTimeoutMs: 40_000 });
    expect(texts).to.deep.equal([1, 2, 3, 4].map(plain));
  });

  it('signs an output of an answer once the store is back', async () => {
    const signer = new AppendingSigner();
    let failures = 2;
    const { texts } = await run(signer, {
      isInTheAnswer: true,
      interceptor: async (call) => {
        if (call.name !== 'objects.write' || signer.given.length === 0 || failures === 0) return call.proceed();
        failures -= 1;
        throw new StoreUnavailable('The store is full.');
      },
    });
    expect(failures).to.equal(0);
    expect(texts).to.deep.equal([plain(1) + SIGNATURE, plain(2) + SIGNATURE]);
  });

  it('waits for the store: an output whose signed file cannot be stored now is stored again', async () => {
    const signer = new AppendingSigner();
    let failures = 2;
    const { texts } = await run(signer, {
      count: 1,
      interceptor: async (call) => {
        if (call.name === 'objects.write' && signer.given.length > 0 && failures > 0) {
          failures -= 1;
          throw new StoreUnavailable('The store is full.');
        }
        return call.proceed();
      },
    });
    expect(failures).to.equal(0);
    expect(texts[0]).to.match(/^PLAIN image\/png 64x64 output \d signed$/);
  });
});
