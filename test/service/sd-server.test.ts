// Goal: the example for stable-diffusion.cpp makes pictures as its page says, from the command to the file.
// Method: the started service with the example's configuration and catalog, but for smaller pictures in fewer steps,
// over a real sd-server whose checkpoint is of zeros; its pictures are blank, and everything else is as with another
// checkpoint.
import { expect } from 'chai';
import { image } from '../fixtures/images.js';
import { orSkip, sdServer } from '../servers/servers.js';
import { ProviderService } from './provider-service.js';

describe('the service on a real sd-server', () => {
  let example: ProviderService;

  before(async function () {
    const { url } = await orSkip(this, sdServer());
    example = await ProviderService.example('sdcpp', { SDCPP_BASE_URL: url }, (catalog) =>
      catalog.replaceAll('256x256', '64x64').replaceAll('sample_steps: { value: 20 }', 'sample_steps: { value: 1 }'),
    );
  });
  after(() => example?.stop());

  it('makes a picture of words, of the size and in the format that was asked for', async () => {
    const args = ['--param', 'size=64x64', '--param', 'steps=1', '--out', 'lighthouse.png'];
    const task = await example.generate('a lighthouse that nobody sees', 'stable-diffusion', ...args);
    expect(task).to.include({ status: 'succeeded', charged_credits: 4 });
    expect(await example.picturesOf(task)).to.deep.equal(['64x64 png']);
    expect(example.bytesOf(task).includes('lighthouse'), 'the prompt is in the file').to.equal(false);
  });

  it('makes a picture of a picture', async () => {
    const boat = example.fileOf('boat.png', await image('png', 300, 200));
    const args = ['--param', 'size=64x64', '--param', 'strength=1', '--reference', boat, '--out', 'other.png'];
    const task = await example.generate('a boat', 'stable-diffusion-variation', ...args);
    expect(task).to.include({ status: 'succeeded', charged_credits: 5 });
    expect(await example.picturesOf(task)).to.deep.equal(['64x64 png']);
  });
});
