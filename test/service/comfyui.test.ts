// Goal: workflows become pictures and videos as the page of ComfyUI says, from the proposed catalog to the file; each
// delivery is charged once and contains no workflow.
// Method: catalogs as the command proposes them, a started service, and a server that behaves as real ones were seen to; also
// the real one that TEST_COMFYUI_URL names.
import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { parse } from 'yaml';
import { EDIT, STILL, VIDEO } from '../adapters/providers/comfyui/workflows.js';
import { image } from '../fixtures/images.js';
import { MARKER } from '../fixtures/tagged-images.js';
import { CliRun } from '../harness/cli-run.js';
import { CliService } from '../harness/cli-service.js';
import { ComfyUiFake } from '../providers/fakes/comfyui-fake.js';
import { providerFolder, ProviderService } from './provider-service.js';

const WORKFLOWS = { still: STILL, film: VIDEO, edit: EDIT };

const A_REAL_ONE = 'a real server';
const real = process.env['TEST_COMFYUI_URL'];
describeService('a server of the tests', () => ComfyUiFake.open());
if (real === undefined) it.skip('runs workflows on a real ComfyUI (skipped: TEST_COMFYUI_URL names no server)');
else describeService(A_REAL_ONE, async () => ({ url: real, close: async () => undefined }));

function describeService(
  name: string,
  open: () => Promise<ComfyUiFake | { readonly url: string; readonly close: () => Promise<void> }>,
): void {
  describe(`the service on ComfyUI, ${name}`, () => {
    let comfyui: Awaited<ReturnType<typeof open>>;
    let example: ProviderService;

    before(async () => {
      comfyui = await open();
      const folder = providerFolder('comfyui');
      const models = [];
      for (const [key, workflow] of Object.entries(WORKFLOWS)) {
        writeFileSync(join(folder, `${key}.json`), JSON.stringify(workflow));
        const { stdout } = await new CliRun(folder, ['comfyui', 'import', `${key}.json`]).ended;
        models.push(...(parse(stdout) as { readonly models: readonly object[] }).models);
      }
      writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ version: 1, models }));
      const providers = { comfyui: { kind: 'comfyui', servers: [comfyui.url] } };
      writeFileSync(join(folder, 'darkroom.yaml'), JSON.stringify({ providers }));
      const environment = {
        DARKROOM_CONFIG: join(folder, 'darkroom.yaml'),
        DARKROOM_CATALOG: join(folder, 'catalog.yaml'),
      };
      example = new ProviderService(folder, environment, await CliService.start(environment));
    });
    after(async () => {
      await example.stop();
      await comfyui.close();
    });

    async function generate(model: string, ...args: readonly string[]): Promise<Buffer> {
      const task = await example.generate('a lighthouse at dusk', model, ...args);
      expect(task).to.include({ status: 'succeeded', charged_credits: 10 });
      expect(task.files).to.have.length(1);
      const delivered = example.bytesOf(task);
      expect(delivered.includes(MARKER), 'it has the workflow').to.equal(false);
      return delivered;
    }

    it('makes a picture', async () => {
      const picture = await generate('still');
      expect(await sharp(picture).metadata()).to.include({ format: 'png', width: 64, height: 48 });
    });

    it('makes a video', async () => {
      expect((await generate('film')).toString('latin1', 4, 8)).to.equal('ftyp');
    });

    it('makes a picture from a picture', async () => {
      const harbour = example.fileOf('harbour.png', await image('png', 90, 70));
      const picture = await generate('edit', '--reference', harbour);
      expect(await sharp(picture).metadata()).to.include({ format: 'png', width: 90, height: 70 });
    });

    const once = 'makes a picture once, though the answer to its submission is lost';
    if (name === A_REAL_ONE) it.skip(`${once} (skipped: a real server loses none)`);
    else
      it(once, async () => {
        if (!(comfyui instanceof ComfyUiFake)) throw new Error('It is no server of the tests.');
        const { server, queue } = comfyui;
        const before = queue.runs.length;
        server.plan({ type: 'lose-answer' }, { of: 'submit' });
        await generate('still');
        expect(queue.runs.length - before).to.equal(1);
      });
  });
}
