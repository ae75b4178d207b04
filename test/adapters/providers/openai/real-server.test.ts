/*
 * Goal: the provider works with a server that nobody here has written, and the trap that the preset closes is a real one.
 * Method: sd-server of stable-diffusion.cpp by its API of OpenAI, with a model of zeros. Its own commands in the prompt, which the
 * preset refuses, make it quick.
 */
import { expect } from 'chai';
import sharp from 'sharp';
import type { OpenAiProvider } from '../../../../adapters/providers/openai/openai-provider.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { halfMasked, keptOf } from '../../../fixtures/masked-pictures.js';
import { orSkip, sdServer } from '../../../servers/servers.js';
import { file, openAiAt, task } from './opened-openai.js';

const UNGUARDED: JsonObject = { preset: 'sd-cpp', refused_in_prompts: [] };

describe('a real sd-server by the API of OpenAI', () => {
  let provider: OpenAiProvider;
  before(async function () {
    const { url } = await orSkip(this, sdServer());
    provider = openAiAt(`${url}/v1`);
  });
  after(() => provider?.close());

  async function made(commands: object, wish: Partial<Submission> = {}) {
    return sharp(await bytesMade(commands, wish)).metadata();
  }

  async function bytesMade(commands: object, wish: Partial<Submission>): Promise<Uint8Array> {
    const prompt = `a lighthouse <sd_cpp_extra_args>${JSON.stringify({ sample_params: { sample_steps: 1 }, ...commands })}</sd_cpp_extra_args>`;
    const parameters = { size: '64x64', n: 1, output_format: 'jpeg' };
    const answer = await provider.submit(task({ settings: UNGUARDED, prompt, parameters, ...wish }), WANTED);
    if (!('outputs' in answer)) throw new Error('There are no outputs.');
    expect(answer.outputs.map(({ mediaType }) => mediaType)).to.deep.equal(['image/jpeg']);
    return collected(answer.outputs[0]!.bytes);
  }

  it('is what its address and its model say', async () => {
    expect(await provider.check([UNGUARDED], WANTED)).to.deep.equal({ faults: [] });
    expect((await provider.check([{ ...UNGUARDED, model: 'sdxl' }], WANTED)).faults).to.have.length(1);
  });

  it('makes a picture, whose size a command in the prompt decides if that is not refused', async () => {
    expect(await made({ width: 128 })).to.include({ format: 'jpeg', width: 128, height: 64 });
  });

  it('makes a picture of a picture', async () => {
    const references = [file(await image('png', 64, 64))];
    expect(await made({}, { references })).to.include({ format: 'jpeg', width: 64, height: 64 });
  });

  it('makes anew what is transparent in a picture, and keeps the rest', async () => {
    const output = await bytesMade({ strength: 1 }, { references: [await halfMasked()] });
    const { left, right, all } = await keptOf(output);
    expect(right).to.equal(all);
    expect(left).to.be.lessThan(all / 10);
  });
});
