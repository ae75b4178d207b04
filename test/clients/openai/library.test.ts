// Goal: the newest library `openai` of those for the oldest supported Node works with the program, is told what is wrong, and
// pays what was delivered, once.
// Method: the library as its users have it, against the started program with the models that come with it; a proxy that
// cuts connections; the code blocks of the page. After each test the books are verified.
import { expect } from 'chai';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { OpenAI } from 'openai';
import { ROOT } from '../../docs/pages.js';
import { sizeOf } from '../../harness/run-sizes.js';
import { LANES } from '../../service/lanes.js';
import { ClientService } from './client-service.js';
import { DocumentedExample } from './documented-example.js';
import { openAiSuite } from './openai-suite.js';

for (const lane of LANES.slice(0, sizeOf('openAiLanes')))
  openAiSuite({
    name: `openai 6 with ${lane.name}`,
    open: async () => OpenAI,
    openService: async (suite) => ClientService.open({ lane: await lane.open(suite) }),
  });

describe('the examples of docs/openai.md in the shell and for Node', () => {
  let service: ClientService;
  before(async () => {
    service = await ClientService.open();
  });
  after(() => service.close());

  it('make a picture with curl', async () => {
    const tenant = await service.tenant();
    const example = new DocumentedExample(service, 'curl', 'sh');
    await example.run('bash', [], tenant);
    expect(await example.picture('lighthouse.png')).to.equal('png 512x512');
    await service.expectPaid(tenant, 4);
  });

  it('make a picture and a video with openai', async () => {
    const tenant = await service.tenant();
    const example = new DocumentedExample(service, 'openai for TypeScript', 'ts', { count: 2 });
    symlinkSync(join(ROOT, 'node_modules'), join(example.folder, 'node_modules'));
    await example.run(process.execPath, ['--input-type=module'], tenant);
    expect(await example.picture('lighthouse.png')).to.equal('png 512x512');
    expect(example.file('waves.mp4').toString('latin1', 4, 8)).to.equal('ftyp');
    await service.expectPaid(tenant, 44);
  });
});
