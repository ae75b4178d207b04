import { expect } from 'chai';
import fc from 'fast-check';
import type { Model } from '../../../core/catalog/model.js';
import { estimateGeneration } from '../../../core/generation/create-generation.js';
import type { JsonObject } from '../../../core/json.js';
import { imageModel, imagePrice } from '../../fixtures/models.js';
import { plainImage, plainVideo } from '../../fixtures/plain-media.js';
import { forAll } from '../../harness/for-all.js';
import { CoreHarness, CoreWorker, untilSettled } from '../../harness/core-harness.js';
import { anyCase, anyOutput, type Case, expectedCredits } from '../catalog/priced-cases.js';
import { complete, prepare, send } from '../uploads/upload-steps.js';

// Goal: whatever form a price has, the estimate is what is reserved, and delivered outputs are charged by the terms of the
// day of acceptance, never above the reservation, with the reference files as they were uploaded.
// Method: random prices and outputs through uploads, estimate, create and a worker on memory adapters, with a catalog that
// changes in between; credits by the reference of the price tests.

const CREDITS = 10 ** 13;
const SIZE = { type: 'string', pattern: '^[1-9][0-9]{0,3}x[1-9][0-9]{0,3}$' };

function modelOf({ terms }: Case): Model {
  const { modality, operations } = isVideo(terms)
    ? ({ modality: 'video', operations: ['video_generation'] } as const)
    : ({ modality: 'image', operations: ['image_generation'] } as const);
  return imageModel({
    modality,
    operations,
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      properties: {
        count: { type: 'integer', minimum: 1, maximum: 4 },
        seconds: { type: 'integer', minimum: 1, maximum: 600 },
        quality: { type: 'string', enum: ['low', 'high', 'unlisted'] },
        sound: { type: 'boolean' },
        size: SIZE,
        ratio: { type: 'string', enum: ['wanted'] },
        scale: { type: 'integer', enum: [2] },
      },
    },
    limits: { ...imageModel().limits, maxReferenceUploads: 8 },
    price: terms,
  });
}

function isVideo({ unit, frameRateMillihertz }: Case['terms']): boolean {
  return unit === 'second' || unit === 'video' || frameRateMillihertz !== undefined;
}

async function uploaded(harness: CoreHarness, bytes: Uint8Array): Promise<string> {
  const prepared = await prepare(harness, bytes);
  send(harness, prepared, bytes);
  await complete(harness, prepared.upload.uploadId);
  return prepared.upload.uploadId;
}

describe('a price of any form', () => {
  it('is estimated, reserved and charged alike', async () => {
    const delivered = fc.array(anyOutput, { minLength: 1, maxLength: 4 });
    await forAll(60, [anyCase, delivered, anyCase], async (one, sizes, later) => {
      const model = modelOf(one);
      const harness = await CoreHarness.open({
        models: [model],
        credits: CREDITS,
        settings: { maxUploadPixels: 10 ** 8, maxOutputPixels: 10 ** 8 },
      });
      harness.provider.newOutputs = () =>
        sizes.map(({ widthPx, heightPx, durationMs }) =>
          isVideo(one.terms) ? plainVideo(widthPx, heightPx, durationMs) : plainImage(widthPx, heightPx),
        );
      harness.provider.newReport = () => ({
        state: 'succeeded',
        outputs: sizes.map(() => ({ kind: model.modality, mediaType: isVideo(one.terms) ? 'video/mp4' : 'image/png' })),
      });
      const ids: string[] = [];
      for (const { widthPx, heightPx } of one.references)
        ids.push(await uploaded(harness, plainImage(widthPx, heightPx)));
      const request = harness.body(one.parameters, { operation: model.operations[0]!, reference_upload_ids: ids });

      const reserved = expectedCredits(one, Array<typeof one.output>(one.count).fill(one.output));
      expect(await estimateGeneration(harness.context, harness.caller, request)).to.include({
        estimatedCredits: reserved,
      });
      const { generation } = await harness.post('k', request);
      expect(generation).to.include({ estimatedCredits: reserved, reservedCredits: reserved });

      harness.models = [{ ...model, price: later.terms }];
      await CoreWorker.start(harness);
      const ended = await untilSettled(harness, generation.generationId);
      const kept = sizes.slice(0, one.count);
      const asked = Array<typeof one.output>(kept.length).fill(one.output);
      const isMeasured = ['megapixel', 'second'].includes(one.terms.unit);
      const charge = Math.min(reserved, expectedCredits(one, isMeasured ? kept : asked));
      expect(ended).to.include({ status: 'succeeded', chargedCredits: charge });
      const account = await harness.account();
      expect([account.available, account.reserved]).to.deep.equal([CREDITS - charge, 0]);
    });
  });
});

// Goal: a size that a table gives is what outputs are compared with, by the values that the request has or by the defaults.
// Method: outputs of the size and of another one, delivered and refused.

describe('a table of sizes', () => {
  const price = imagePrice(4, {
    unit: 'megapixel',
    sizeTable: {
      parameters: ['ratio', 'scale'],
      sizes: [
        { values: ['wide', 1], widthPx: 1_376, heightPx: 768 },
        { values: ['wide', 2], widthPx: 2_752, heightPx: 1_536 },
      ],
    },
  });
  const inputSchema = {
    type: 'object',
    additionalProperties: false,
    properties: {
      ratio: { type: 'string', enum: ['wide'], default: 'wide' },
      scale: { type: 'integer', enum: [1, 2], default: 1 },
    },
  };

  async function played(parameters: JsonObject, output: Uint8Array, onOtherSize: Model['onOtherSize']) {
    const harness = await CoreHarness.open({
      models: [imageModel({ price, inputSchema, onOtherSize, maxAttempts: 1 })],
    });
    harness.provider.newOutputs = () => [output];
    await CoreWorker.start(harness);
    const { generationId } = await harness.create(parameters);
    const { status, reservedCredits, chargedCredits } = await untilSettled(harness, generationId);
    const differences = harness.warnings.filter(({ event }) => event === 'output differs from the request');
    return {
      status,
      reservedCredits,
      chargedCredits,
      differences: differences.map(({ about }) => about['difference']),
    };
  }

  it('accepts what it lists, at the price of that size', async () => {
    for (const policy of ['deliver', 'refuse'] as const) {
      const none = { status: 'succeeded', differences: [] };
      expect(await played({}, plainImage(1_376, 768), policy)).to.deep.equal({
        ...none,
        reservedCredits: 5,
        chargedCredits: 5,
      });
      expect(await played({ scale: 2 }, plainImage(2_752, 1_536), policy)).to.deep.equal({
        ...none,
        reservedCredits: 17,
        chargedCredits: 17,
      });
    }
  });

  it('names the difference of another size, which is delivered for less or refused without charge', async () => {
    const other = plainImage(1_376, 768);
    expect(await played({ scale: 2 }, other, 'deliver')).to.deep.equal({
      status: 'succeeded',
      reservedCredits: 17,
      chargedCredits: 5,
      differences: ['It is 1376x768 pixels, not 2752x1536.'],
    });
    expect(await played({ scale: 2 }, other, 'refuse')).to.include({ status: 'failed', chargedCredits: 0 });
  });
});
