import { expect } from 'chai';
import fc from 'fast-check';
import { type Model, PROMPT_RULES, type PromptRule } from '../../../core/catalog/model.js';
import { ServiceError } from '../../../core/errors.js';
import { estimateGeneration } from '../../../core/generation/create-generation.js';
import { exampleRequest } from '../../../core/generation/quote.js';
import { REFERENCE_ROLES, type ReferenceRole } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { imageModel } from '../../fixtures/models.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../harness/core-harness.js';
import { complete, prepare, send } from '../uploads/upload-steps.js';

// Goal: a request is refused for a missing prompt, a prompt that is too long, and a missing file of a required role, the
// same by estimate and create, and with nothing held; where the model does without a prompt, the provider gets none.
// Method: the use cases on memory adapters; the refusals against a small model of the rules; what reached the provider.

/** The outcomes of estimate and create, which must be the same: OK, or the code and the pointer. */
async function outcomeOf(harness: CoreHarness, body: JsonObject): Promise<string> {
  const told = (error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    return `${error.code} ${error.details.pointer ?? ''}`;
  };
  const estimated = await estimateGeneration(harness.context, harness.caller, body).then(() => 'OK', told);
  const before = (await harness.account()).reserved;
  const created = await harness.post(harness.ports.ids.uuid(), body).then(() => 'OK', told);
  expect(created).to.equal(estimated);
  if (created !== 'OK') expect((await harness.account()).reserved, 'nothing is held').to.equal(before);
  return created;
}

/** The body without its prompt, unless one is given. */
function request(harness: CoreHarness, changes: JsonObject = {}): JsonObject {
  const { prompt: _, ...rest } = harness.body();
  return { ...rest, ...changes };
}

async function uploaded(harness: CoreHarness, role: ReferenceRole): Promise<string> {
  const bytes = plainImage();
  const prepared = await prepare(harness, bytes, { role });
  send(harness, prepared, bytes);
  await complete(harness, prepared.upload.uploadId);
  return prepared.upload.uploadId;
}

const limits = { ...imageModel().limits, referenceRoles: REFERENCE_ROLES, maxReferenceUploads: 8 };

const TEXTS = { none: undefined, empty: '', blank: ' \n', short: 'x', astral: '🏠'.repeat(20), long: 'x'.repeat(21) };

describe('a prompt', () => {
  it('is required, optional and bounded as the model says, by estimate and create', async () => {
    const harness = await CoreHarness.open();
    const expected = (rule: PromptRule, text: keyof typeof TEXTS): string => {
      if (text === 'none') return rule === 'required' ? 'FIELD_REQUIRED /prompt' : 'OK';
      return text === 'short' || text === 'astral' ? 'OK' : 'FIELD_INVALID /prompt';
    };
    for (const promptRule of PROMPT_RULES) {
      harness.models[0] = imageModel({ promptRule, maxPromptCharacters: 20 });
      for (const [name, prompt] of Object.entries(TEXTS)) {
        const outcome = await outcomeOf(harness, request(harness, prompt === undefined ? {} : { prompt }));
        expect(outcome, `${promptRule}, ${name}`).to.equal(expected(promptRule, name as keyof typeof TEXTS));
      }
      expect(await outcomeOf(harness, request(harness, { prompt: null })), 'null').to.equal(
        expected(promptRule, 'none'),
      );
    }
  });

  it('bounds the negative prompt as well', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ maxPromptCharacters: 20 })] });
    const negative = (text: string) => outcomeOf(harness, harness.body({}, { prompt: 'x', negative_prompt: text }));
    expect(await negative(TEXTS.astral)).to.equal('OK');
    expect(await negative(TEXTS.long)).to.equal('FIELD_INVALID /negative_prompt');
  });

  it('is required of a model that the catalog does not have', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ promptRule: 'none' })] });
    expect(await outcomeOf(harness, request(harness, { model_key: 'other' }))).to.equal('FIELD_REQUIRED /prompt');
  });

  it('reaches the provider unless there is none or the model takes none, and stays in the record', async () => {
    const harness = await CoreHarness.open();
    await CoreWorker.start(harness, 'worker');
    const sent = async (promptRule: PromptRule, prompt?: string) => {
      harness.models[0] = imageModel({ promptRule });
      const body = request(harness, prompt === undefined ? {} : { prompt });
      const { generation } = await harness.post(harness.ports.ids.uuid(), body);
      const ended = await untilSettled(harness, generation.generationId);
      expect(ended.status).to.equal('succeeded');
      expect(ended.prompt).to.equal(prompt ?? '');
      return harness.provider.submissions.at(-1)?.prompt;
    };
    expect(await sent('required', 'a')).to.equal('a');
    expect(await sent('optional', 'b')).to.equal('b');
    expect(await sent('optional')).to.equal('');
    expect(await sent('none', 'c')).to.equal('');
    expect(await sent('none')).to.equal('');
  });

  it('that is missing does not hide a generation that was created under the key, once the catalog asks for it', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ promptRule: 'optional' })] });
    const body = request(harness);
    const { generation } = await harness.post('k', body);
    for (const models of [[imageModel()], []]) {
      harness.models.splice(0, Infinity, ...models);
      const again = await harness.post('k', body);
      expect([again.replayed, again.generation.generationId]).to.deep.equal([true, generation.generationId]);
      for (const [key, changed] of [
        ['k', { client_trace_id: 'other' }],
        ['another', {}],
      ] as const) {
        const refusal = await harness.post(key, request(harness, changed)).catch((error: unknown) => error);
        expect(refusal).to.have.property('code', 'FIELD_REQUIRED');
      }
    }
    expect(await harness.generations()).to.have.length(1);
  });
});

describe('a required role', () => {
  it('must have as many files as it is named, whatever other files there are, before anything is held', async () => {
    const harness = await CoreHarness.open({ models: [imageModel({ limits })] });
    const files: readonly ReferenceRole[] = [...REFERENCE_ROLES, 'reference_image', 'reference_image'];
    const ids: string[] = [];
    for (const role of files) ids.push(await uploaded(harness, role));
    const some = fc.shuffledSubarray([...files.keys()]);
    await fc.assert(
      fc.asyncProperty(some, some, async (required, sent) => {
        const requiredRoles = required.map((index) => files[index] as ReferenceRole);
        harness.models[0] = imageModel({ limits, requiredRoles });
        const body = harness.body({}, { reference_upload_ids: sent.map((index) => ids[index] as string) });
        const left = sent.map((index) => files[index]);
        const isMissing = requiredRoles.some((role) => {
          const at = left.indexOf(role);
          left.splice(at, at < 0 ? 0 : 1);
          return at < 0;
        });
        expect(await outcomeOf(harness, body)).to.equal(isMissing ? 'FIELD_REQUIRED /reference_upload_ids' : 'OK');
      }),
      { numRuns: 60 },
    );
  });

  it('is named in the refusal, with the number of its files', async () => {
    const harness = await CoreHarness.open();
    for (const [requiredRoles, files] of [
      [['start_frame'], 'a file of the role start_frame'],
      [['reference_image', 'reference_image'], 'at least 2 files of the role reference_image'],
    ] as const) {
      harness.models[0] = imageModel({ limits, requiredRoles });
      const refusal = await harness.post('k', harness.body()).catch((error: unknown) => error);
      expect(refusal).to.have.property(
        'message',
        `reference_upload_ids must name ${files}, which plain-image requires.`,
      );
    }
  });

  it('does not count for an estimate whose files come later', async () => {
    const model = imageModel({ limits, requiredRoles: ['start_frame', 'reference_image'] });
    const harness = await CoreHarness.open({ models: [model] });
    const estimate = (roles: readonly ReferenceRole[]) =>
      estimateGeneration(harness.context, harness.caller, harness.body(), roles).then(
        ({ estimatedCredits }) => estimatedCredits,
        (error: unknown) => (error as ServiceError).code,
      );
    expect(await estimate(['reference_image'])).to.equal('FIELD_REQUIRED');
    expect(await estimate(['reference_image', 'start_frame'])).to.equal(10);
    harness.models[0] = imageModel({ limits, requiredRoles: ['reference_image', 'reference_image'] });
    expect(await estimate(['reference_image'])).to.equal('FIELD_REQUIRED');
    expect(await estimate(['reference_image', 'reference_image'])).to.equal(10);
  });
});

describe('the example request', () => {
  it('is not of a model that needs a file or takes no prompt', async () => {
    const needsFile: Model = imageModel({ modelKey: 'file', requiredRoles: ['reference_image'] });
    const takesNone: Model = imageModel({ modelKey: 'none', promptRule: 'none' });
    const harness = await CoreHarness.open({ models: [needsFile, takesNone] });
    const example = () => exampleRequest(harness.context, harness.caller);
    expect(await example()).to.equal(undefined);
    harness.models.push(imageModel({ promptRule: 'optional' }));
    expect(await example()).to.include({ model_key: 'plain-image', prompt: 'a lighthouse at dusk' });
  });
});
