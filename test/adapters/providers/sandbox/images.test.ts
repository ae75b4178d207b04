/*
 * Goal: pictures match the request, and the same request always gives the same bytes.
 * Method: small pictures are rendered and decoded again; a second process renders one of them again.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import sharp from 'sharp';
import { SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import { sha256Of } from '../../../fixtures/sha256.js';
import { reportsUntilOver, submitted } from '../../../contracts/provider.contract.js';
import { render } from './render.js';
import { HandClock, referenceFile, task, type Wish } from './tasks.js';

const SMALL = { size: '256x256' };

describe('Sandbox pictures', () => {
  let provider: SandboxProvider;
  before(() => void (provider = new SandboxProvider({ clock: new HandClock(), threads: 1 })));
  after(() => provider.close());

  const renderOne = async (wish: Wish): Promise<Buffer> => (await render(provider, { parameters: SMALL, ...wish }))[0]!;

  for (const format of ['png', 'jpeg', 'webp']) {
    it(`paints ${format} of the size asked for`, async () => {
      const bytes = await renderOne({ parameters: { size: '256x256', format } });
      const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
      expect((await sharp(bytes).metadata()).format).to.equal(format);
      expect([info.width, info.height]).to.deep.equal([256, 256]);
      expect(new Set(data).size, 'a picture has many tones').to.be.greaterThan(100);
    });
  }

  it('paints sizes that are not square', async () => {
    const { width, height } = await sharp(await renderOne({ parameters: { size: '576x1024' } })).metadata();
    expect([width, height]).to.deep.equal([576, 1024]);
  });

  it('paints n different pictures', async () => {
    const pictures = await render(provider, { parameters: { ...SMALL, n: 3 } });
    expect(new Set(pictures.map((bytes) => bytes.toString('base64'))).size).to.equal(3);
  });

  it('gives the same bytes for the same request, and others for another prompt, seed, negative prompt or reference', async () => {
    const first = await renderOne({});
    expect((await renderOne({})).equals(first)).to.equal(true);
    const others: Wish[] = [
      { prompt: 'a lighthouse above the sea at dawn' },
      { parameters: { ...SMALL, seed: 7 } },
      { negativePrompt: 'clouds' },
      { references: [referenceFile('reference_image', await renderOne({ prompt: 'a red heart' }))] },
    ];
    for (const other of others) expect((await renderOne(other)).equals(first), JSON.stringify(other)).to.equal(false);
  });

  it('gives the same bytes in another process', async () => {
    const here = sha256Of(await renderOne({}));
    const script = fileURLToPath(new URL('./digest-of-render.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script]);
    expect(stdout.trim()).to.equal(here);
  });

  it('draws a shape in its colour', async () => {
    const bytes = await renderOne({ prompt: 'a red circle' });
    const { data } = await sharp(bytes)
      .extract({ left: 124, top: 112, width: 8, height: 8 })
      .raw()
      .toBuffer({ resolveWithObject: true });
    const [red, green, blue] = [data[0]!, data[1]!, data[2]!];
    expect(red).to.be.greaterThan(Math.max(green, blue) + 80);
  });

  it('shows a reference image behind the scene', async () => {
    const flat = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#00ff00' } })
      .png()
      .toBuffer();
    const wish = { prompt: 'a lighthouse above the sea at dusk' };
    const greenOf = async (bytes: Buffer): Promise<number> => {
      const { channels } = await sharp(bytes).stats();
      return channels[1]!.mean - (channels[0]!.mean + channels[2]!.mean) / 2;
    };
    const plain = await greenOf(await renderOne(wish));
    expect(
      await greenOf(await renderOne({ ...wish, references: [referenceFile('reference_image', flat)] })),
    ).to.be.greaterThan(plain + 60);
  });

  it('fails permanently, with one sentence, for a reference that is not a picture', async () => {
    const submission = task({
      token: 'no-picture',
      parameters: SMALL,
      references: [referenceFile('reference_image', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))],
    });
    const reference = await submitted(provider, submission);
    const last = (await reportsUntilOver(provider, reference, submission)).at(-1)!;
    expect(last).to.deep.equal({
      state: 'failed',
      failure: {
        code: 'INPUT_INVALID',
        message: 'A reference file must be a PNG, JPEG or WebP picture.',
        mayRetry: false,
      },
    });
  });

  it('paints any prompt', async () => {
    for (const prompt of [
      'x',
      '<svg>&amp;</svg> "quoted"',
      'Ünïcödé ñandú Çelik žluťoučký',
      '月の下の海 🚢🌊 \u202Eabc\u200D\u0301',
      'W'.repeat(8000),
      '\u{1F600}'.repeat(300),
      ' \n\t ',
      '__proto__ constructor toString',
    ]) {
      const { width } = await sharp(await renderOne({ prompt })).metadata();
      expect(width, prompt.slice(0, 20)).to.equal(256);
    }
  });
});
