/**
 * Goal: what people copy from a vendor's page names the same model as the short form, with its version; what names none is
 * refused with the form that may be meant.
 */
import { expect } from 'chai';
import { readRef } from '../../../apps/cli/models/model-ref.js';

const VERSION = 'b2'.repeat(32);

describe('the name of a model of a vendor', () => {
  const NAMES: readonly (readonly [given: string, text: string])[] = [
    ['fal:fal-ai/flux/schnell', 'fal:fal-ai/flux/schnell'],
    ['FAL:fal-ai/flux/schnell/', 'fal:fal-ai/flux/schnell'],
    ['https://fal.ai/models/fal-ai/flux/schnell', 'fal:fal-ai/flux/schnell'],
    ['fal:https://fal.ai/models/fal-ai/flux/schnell/api?platform=http#about', 'fal:fal-ai/flux/schnell'],
    ['www.fal.ai/models/fal-ai/flux/schnell/playground', 'fal:fal-ai/flux/schnell'],
    ['https://replicate.com/acme/own', 'replicate:acme/own'],
    ['replicate:https://replicate.com/acme/own/api/learn-more', 'replicate:acme/own'],
    [`https://replicate.com/acme/own/versions/${VERSION}/api`, `replicate:acme/own:${VERSION}`],
    ['cog:http://127.0.0.1:5000/', 'cog:http://127.0.0.1:5000'],
    ['openai:gpt-image-2', 'openai:gpt-image-2'],
    ['comfyui:my folder/workflow.json', 'comfyui:my folder/workflow.json'],
  ];
  for (const [given, text] of NAMES) {
    it(`is ${text} for ${given}`, () => {
      expect(readRef(given).text).to.equal(text);
    });
  }

  const REFUSED: readonly (readonly [given: string, form: string])[] = [
    ['fal-ai/flux/schnell', 'write fal:fal-ai/flux/schnell.'],
    ['acme/own', 'write fal:acme/own or replicate:acme/own.'],
    ['https://fal.example/models/a/b', 'write fal:<endpoint>, '],
    ['https://replicate.com/acme/own/versions/b2', 'write fal:<endpoint>, '],
    ['https://fal.ai/models/flux', 'does not name a model of fal: write fal:<endpoint>'],
    ['cog:localhost:5000', 'write cog:<address>, such as cog:http://127.0.0.1:5000'],
  ];
  for (const [given, form] of REFUSED) {
    it(`is not ${given}`, () => {
      expect(() => readRef(given)).to.throw(form);
    });
  }
});
