/**
 * Goal: references are fetched and decoded one after another, within the memory there is, and are turned upright and
 * cut to the middle. Method: references that tell when they are opened, a budget that the test holds itself, and
 * pictures of plain colours.
 */
import { expect } from 'chai';
import sharp from 'sharp';
import { decodeReference } from '../../../../adapters/providers/sandbox/decode-reference.js';
import { SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import { TaskRefused } from '../../../../adapters/providers/shared/task-refused.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { ProviderReference } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted } from '../../../contracts/provider.contract.js';
import { inPieces } from '../../../fixtures/byte-streams.js';
import { TestedCall } from '../../../fixtures/cancellation.js';
import { HandClock, referenceFile, task } from './tasks.js';

const SMALL = { size: '256x256' };
const CELL = { widthPx: 64, heightPx: 64 };
const LEFT = { r: 255, g: 0, b: 0 };
const RIGHT = { r: 0, g: 0, b: 255 };

/** Left half red, right half blue. */
function halves(widthPx: number, heightPx: number) {
  const right = { create: { width: widthPx / 2, height: heightPx, channels: 3, background: RIGHT } } as const;
  return sharp({ create: { width: widthPx, height: heightPx, channels: 3, background: LEFT } }).composite([
    { input: right, left: widthPx / 2, top: 0 },
  ]);
}

async function decoded(bytes: Uint8Array): Promise<(xPx: number, yPx: number) => number[]> {
  const { pixels } = await decodeReference(
    referenceFile('reference_image', bytes),
    CELL,
    new MemoryBudget(1e9),
    new TestedCall(),
  );
  return (xPx, yPx) =>
    [...pixels.subarray((yPx * 64 + xPx) * 3, (yPx * 64 + xPx) * 3 + 3)].map((channel) => (channel > 128 ? 1 : 0));
}

describe('Sandbox references', () => {
  const clock = new HandClock();

  it('are opened one after another', async () => {
    const bytes = await halves(640, 480).png().toBuffer();
    let [open, most, opened] = [0, 0, 0];
    const watched: ProviderReference = {
      ...referenceFile('reference_image', bytes),
      open: async () => {
        opened += 1;
        most = Math.max(most, (open += 1));
        return (async function* () {
          try {
            yield* inPieces(bytes, 100);
          } finally {
            open -= 1;
          }
        })();
      },
    };
    const provider = new SandboxProvider({ clock });
    const submission = task({ parameters: SMALL, references: [watched, watched, watched, watched] });
    const reference = await submitted(provider, submission);
    expect((await reportsUntilOver(provider, reference, submission)).at(-1)!.state).to.equal('succeeded');
    expect([most, open, opened]).to.deep.equal([1, 0, 8]);
    await provider.close();
  });

  it('wait, with no more than a head fetched, until there is memory', async () => {
    const bytes = await halves(640, 480).jpeg().toBuffer();
    const memory = new MemoryBudget(64 * 1024 * 1024);
    let read = 0;
    const source = {
      ...referenceFile('reference_image', bytes),
      open: async () =>
        (async function* () {
          for await (const piece of inPieces(bytes, 1_000)) {
            read += piece.byteLength;
            yield piece;
          }
        })(),
    };
    const call = new TestedCall();
    const outcome = await memory.during(memory.limitBytes, async () => {
      const decoding = decodeReference(source, CELL, memory, call);
      while (memory.waiting === 0) await new Promise(setImmediate);
      expect(read).to.be.lessThan(bytes.byteLength);
      return { decoding };
    });
    expect((await outcome.decoding).pixels.byteLength).to.equal(64 * 64 * 3);
    expect([memory.heldBytes, memory.waiting]).to.deep.equal([0, 0]);
  });

  it('leave the queue for memory when their task is cancelled, and the thread goes to the next', async () => {
    const memory = new MemoryBudget(64 * 1024 * 1024);
    const provider = new SandboxProvider({ clock, threads: 1, memory });
    const bytes = await halves(64, 64).png().toBuffer();
    await memory.during(memory.limitBytes, async () => {
      const reference = await submitted(
        provider,
        task({ token: 'waits', parameters: SMALL, references: [referenceFile('reference_image', bytes)] }),
      );
      while (memory.waiting === 0) await new Promise(setImmediate);
      await provider.cancel(reference);
      while (memory.waiting === 1) await new Promise(setImmediate);
      expect((await provider.poll(reference)).state).to.equal('cancelled');
      const next = task({ token: 'next', parameters: SMALL });
      expect((await reportsUntilOver(provider, await submitted(provider, next), next)).at(-1)!.state).to.equal(
        'succeeded',
      );
    });
    await provider.close();
  });

  it('come out as browsers show them, which turn no WebP', async () => {
    for (const format of ['jpeg', 'png', 'webp'] as const) {
      const stated = await halves(320, 320).toFormat(format).withMetadata({ orientation: 6 }).toBuffer();
      const at = await decoded(stated);
      const [topRight, bottomLeft] =
        format === 'webp'
          ? [
              [0, 0, 1],
              [1, 0, 0],
            ]
          : [
              [1, 0, 0],
              [0, 0, 1],
            ];
      expect([at(5, 5), at(58, 5), at(5, 58), at(58, 58)], format).to.deep.equal([
        [1, 0, 0],
        topRight,
        bottomLeft,
        [0, 0, 1],
      ]);
    }
  });

  it('are cropped to their middle, however long they are', async () => {
    for (const [widthPx, heightPx] of [
      [320, 320],
      [640, 320],
      [320, 640],
      [3_000, 400],
    ] as const) {
      const at = await decoded(await halves(widthPx, heightPx).png().toBuffer());
      expect([at(2, 32), at(61, 32)], `${widthPx}x${heightPx}`).to.deep.equal([
        [1, 0, 0],
        [0, 0, 1],
      ]);
    }
  });

  it('are refused if they are not pictures or differ from the checked ones', async () => {
    const bytes = await halves(64, 64).png().toBuffer();
    const outcomeOf = (reference: ProviderReference) =>
      decodeReference(reference, CELL, new MemoryBudget(1e9), new TestedCall()).then(
        () => 'decoded',
        (error: unknown) => error,
      );
    expect(
      await outcomeOf(referenceFile('reference_image', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))),
    ).to.be.instanceOf(TaskRefused);
    expect(await outcomeOf(referenceFile('reference_image', bytes.subarray(0, 80)))).to.be.instanceOf(TaskRefused);
    for (const byteSize of [bytes.byteLength - 1, bytes.byteLength + 1]) {
      const outcome = await outcomeOf({ ...referenceFile('reference_image', bytes), byteSize });
      expect(outcome).to.be.instanceOf(Error).and.not.instanceOf(TaskRefused);
    }
  });
});
