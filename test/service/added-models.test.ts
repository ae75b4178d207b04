// Goal: from the key of a vendor to a first picture it takes three commands and no YAML: `models add`, `serve` and `generate`.
// What the entry says is what the vendor gets, and what is delivered is charged as the entry prices it.
// Method: the compiled program in an empty folder, its variables, and fakes of vendors that hold each request against their
// own description of the model and deliver what it says.
import { expect } from 'chai';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import sharp from 'sharp';
import type { JsonObject } from '../../core/json.js';
import { PAINTER } from '../adapters/model-import/vendor-answers.js';
import { CliProcess } from '../harness/cli-run.js';
import { CliService } from '../harness/cli-service.js';
import { FalFake } from '../providers/fakes/fal-fake.js';
import type { Task } from './provider-service.js';

describe('a model of fal that is added by its name', () => {
  let fake: FalFake;
  let service: CliService<CliProcess>;
  before(async () => {
    fake = await FalFake.open();
    const { models } = PAINTER.document as unknown as { readonly models: readonly [JsonObject] };
    fake.describe(models[0], { unit_price: 0.003, unit: 'megapixels', currency: 'USD' });
  });
  after(async () => {
    await service?.stop();
    await fake.close();
  });

  it('makes its first picture after three commands, without any YAML', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-first-'));
    const environment = {
      DARKROOM_PROVIDERS_FAL_API_KEY: fake.key,
      // The addresses of the fake in place of fal's own.
      DARKROOM_PROVIDERS_FAL_BASE_URL: fake.base,
      DARKROOM_PROVIDERS_FAL_PLATFORM_URL: fake.platform,
      // A key of another vendor, whose models are added later.
      DARKROOM_PROVIDERS_REPLICATE_API_KEY: 'r8_test',
    };
    const added = await new CliProcess(folder, ['models', 'add', `fal:${PAINTER.id}`, '--yes'], { environment }).ended;
    expect([added.code, added.stderr]).to.deep.equal([0, '']);
    expect(readdirSync(folder).toSorted()).to.deep.equal(['catalog.yaml', 'darkroom.yaml']);
    service = await CliService.startProcess(environment, folder);
    const task = await service.json<Task>([
      'generate',
      'a lighthouse at dusk',
      '--model',
      'painter-one',
      '--param',
      'size=1280x720',
      '--out',
      'first-picture',
    ]);
    // 0.92 megapixels count as one, for 0.003 dollars x 100 credits x 1.3; the 0.39 credits are rounded up.
    expect([task.status, task.charged_credits]).to.deep.equal(['succeeded', 1]);
    expect(task.files).to.deep.equal(['first-picture.jpg']);
    const { width, height, format } = await sharp(readFileSync(resolve(folder, task.files[0] ?? ''))).metadata();
    expect([width, height, format]).to.deep.equal([1280, 720, 'jpeg']);
    expect(
      fake.queue.map(({ endpoint, input }) => [endpoint, input['image_size'], input['enable_safety_checker']]),
    ).to.deep.equal([[PAINTER.id, { width: 1280, height: 720 }, true]]);
  });

  it('refuses what the vendor would refuse, before it is sent', async () => {
    const { code, stderr } = await service.run(['generate', 'x', '--model', 'painter-one', '--param', 'n=5']);
    expect([code, stderr]).to.match(/^3,.*parameters\.n/);
    const asPng = await service.run(['generate', 'x', '--model', 'painter-one', '--out', 'x.png']);
    expect([asPng.code, asPng.stderr]).to.match(/^2,.*x\.png would hold jpeg, .* omit the ending/);
    expect(fake.server.posts).to.equal(1);
  });
});
