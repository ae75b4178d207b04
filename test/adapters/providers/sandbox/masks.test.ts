/**
 * Goal: the sandbox repaints only the transparent areas of a reference, as clients may expect of every model.
 * Method: outputs of the size of the reference, whose pixels are compared with those of the file.
 */
import { expect } from 'chai';
import sharp from 'sharp';
import { SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import type { ProviderReference } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted } from '../../../contracts/provider.contract.js';
import { maskedReference } from '../../../fixtures/marked-media.js';
import { render } from './render.js';
import { HandClock, referenceFile, task, type Wish } from './tasks.js';

const SIDE_PX = 128;
const PARAMETERS = { size: `${SIDE_PX}x${SIDE_PX}`, seed: 5 };
const CLEAR_PX = 48;
const SOFT_PX = 64;

function colourAt(x: number, y: number): readonly number[] {
  return [255 - x, (x * 3 + y) % 256, y * 2];
}

/** Transparent on the left, half transparent in a strip, opaque on the right. */
async function reference(alphas: readonly [number, number, number] = [0, 128, 255]): Promise<ProviderReference> {
  const pixels: number[] = [];
  for (let y = 0; y < SIDE_PX; y += 1)
    for (let x = 0; x < SIDE_PX; x += 1) pixels.push(...colourAt(x, y), alphas[x < CLEAR_PX ? 0 : x < SOFT_PX ? 1 : 2]);
  const raw = { width: SIDE_PX, height: SIDE_PX, channels: 4 } as const;
  return maskedReference(await sharp(Buffer.from(pixels), { raw }).png().toBuffer());
}

describe('Sandbox masks', () => {
  const clock = new HandClock();
  let provider: SandboxProvider;
  beforeEach(() => void (provider = new SandboxProvider({ clock })));
  afterEach(() => provider.close());

  async function painted(wish: Wish): Promise<(x: number, y: number) => number[]> {
    const [output] = await render(provider, { parameters: PARAMETERS, ...wish });
    const data = await sharp(output).removeAlpha().raw().toBuffer();
    return (x, y) => [...data.subarray((y * SIDE_PX + x) * 3, (y * SIDE_PX + x) * 3 + 3)];
  }

  const differing = (one: readonly number[], other: readonly number[]) =>
    Math.max(...one.map((value, channel) => Math.abs(value - other[channel]!)));

  for (const painter of ['image', 'test'])
    it(`keep opaque pixels exactly, and paint the others anew (${painter})`, async () => {
      const at = await painted({ painter, references: [await reference()] });
      let changed = 0;
      for (let y = 0; y < SIDE_PX; y += 1) {
        for (let x = SOFT_PX; x < SIDE_PX; x += 1) expect(at(x, y), `${x}, ${y}`).to.deep.equal(colourAt(x, y));
        for (let x = 0; x < CLEAR_PX; x += 1) if (differing(at(x, y), colourAt(x, y)) > 24) changed += 1;
      }
      expect(changed).to.be.greaterThan((CLEAR_PX * SIDE_PX) / 2);
    });

  it('blend soft edges', async () => {
    const soft = await painted({ references: [await reference()] });
    const hard = await painted({ references: [await reference([0, 0, 255])] });
    for (const [x, y] of [
      [50, 3],
      [56, 64],
      [62, 120],
    ] as const) {
      const half = colourAt(x, y).map((value, channel) => (value * 128 + hard(x, y)[channel]! * 127) / 255);
      expect(differing(soft(x, y), half), `${x}, ${y}`).to.be.at.most(1);
    }
  });

  it('hold beside other references, of which the scene is painted', async () => {
    const green = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#00ff00' } })
      .png()
      .toBuffer();
    const alone = await painted({ references: [await reference()] });
    const at = await painted({ references: [referenceFile('reference_image', green), await reference()] });
    expect(at(100, 60)).to.deep.equal(colourAt(100, 60));
    expect(at(20, 30)[1]).to.be.greaterThan(alone(20, 30)[1]!);
  });

  it('are promised where pictures are painted', () => {
    const promised = (painter: string) => provider.capabilities({ painter }).maxMaskedReferences;
    expect(['image', 'test', 'video', 'noop'].map(promised)).to.deep.equal([1, 1, undefined, undefined]);
  });

  it('fail a task whose file cannot be decoded', async () => {
    const submission = task({
      parameters: PARAMETERS,
      references: [maskedReference(Buffer.from('These bytes are no picture.'))],
    });
    const last = (await reportsUntilOver(provider, await submitted(provider, submission), submission)).at(-1);
    expect(last).to.have.nested.property('failure.code', 'INPUT_INVALID');
  });

  it('never wait for memory that the same task holds', async () => {
    const memory = new MemoryBudget(1);
    const small = new SandboxProvider({ clock, threads: 2, memory });
    const grey = await sharp({ create: { width: 16, height: 16, channels: 3, background: '#808080' } })
      .png()
      .toBuffer();
    const references = [await reference(), referenceFile('reference_image', grey)];
    const tasks = ['a', 'b', 'c'].map((token) => task({ token, parameters: PARAMETERS, references }));
    const last = await Promise.all(
      tasks.map(async (one) => (await reportsUntilOver(small, await submitted(small, one), one)).at(-1)?.state),
    );
    expect(last).to.deep.equal(['succeeded', 'succeeded', 'succeeded']);
    expect([memory.heldBytes, memory.waiting]).to.deep.equal([0, 0]);
    await small.close();
  });
});
