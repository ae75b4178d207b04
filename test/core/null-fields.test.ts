// Goal: null in an optional field means that the field is absent, also when an idempotency key compares payloads; in a
// required field it means that the field is missing.
// Method: each field of each body set to null, compared with the same body without it; the use cases on memory
// adapters.
import { expect } from 'chai';
import { orThrow, ServiceError } from '../../core/errors.js';
import { createGeneration, estimateGeneration } from '../../core/generation/create-generation.js';
import { GENERATION_REQUEST_SCHEMA, readGenerationRequest } from '../../core/generation/quote.js';
import type { Json, JsonObject } from '../../core/json.js';
import { DEFAULT_SETTINGS } from '../../core/settings.js';
import { completeUpload } from '../../core/uploads/complete-upload.js';
import {
  COMPLETE_REQUEST_SCHEMA,
  PREPARE_REQUEST_SCHEMA,
  prepareUpload,
  readCompleteRequest,
  readPrepareRequest,
} from '../../core/uploads/prepare-upload.js';
import { STATELESS_PORTS } from '../fixtures/memory-stores.js';
import { plainImage } from '../fixtures/plain-media.js';
import { CoreHarness, expectCode } from '../harness/core-harness.js';
import { prepare, send } from './uploads/upload-steps.js';

const UPLOAD: JsonObject = { filename: 'a.png', media_type: 'image/png', byte_size: 1, role: 'reference_image' };

interface Body {
  readonly schema: JsonObject;
  readonly plain: JsonObject;
  readonly read: (body: Json) => { readonly content: JsonObject };
}

const BODIES: Readonly<Record<string, Body>> = {
  'a generation': {
    schema: GENERATION_REQUEST_SCHEMA,
    plain: { model_key: 'm', operation: 'image_generation', prompt: 'p' },
    read: (body) => orThrow(readGenerationRequest(STATELESS_PORTS, body)),
  },
  'prepare': {
    schema: PREPARE_REQUEST_SCHEMA,
    plain: UPLOAD,
    read: (body) => orThrow(readPrepareRequest({ ...STATELESS_PORTS, settings: DEFAULT_SETTINGS }, body)),
  },
  'complete': {
    schema: COMPLETE_REQUEST_SCHEMA,
    plain: {},
    read: (body) => orThrow(readCompleteRequest(STATELESS_PORTS, body)),
  },
};

function refusalOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return `${error.code} ${error.details.pointer}`;
  }
}

describe('a field that is null', () => {
  for (const [name, { schema, plain, read }] of Object.entries(BODIES)) {
    const required = (schema['required'] ?? []) as readonly string[];
    for (const field of Object.keys(schema['properties'] as JsonObject)) {
      if (required.includes(field)) {
        it(`is missing in ${name}: ${field}`, () => {
          expect(refusalOf(() => read({ ...plain, [field]: null }))).to.equal(`FIELD_REQUIRED /${field}`);
        });
      } else {
        it(`is absent in ${name}: ${field}`, () => {
          expect(read({ [field]: null, ...plain })).to.deep.equal(read(plain));
        });
      }
    }
    it(`is unknown in ${name} when there is no such field`, () => {
      expect(refusalOf(() => read({ ...plain, nothing: null }))).to.equal('FIELD_INVALID /nothing');
      expect(refusalOf(() => read({ ...plain, ...(JSON.parse('{"__proto__":null}') as JsonObject) }))).to.equal(
        'FIELD_INVALID /__proto__',
      );
      expect(refusalOf(() => read({ ...plain, toString: null }))).to.equal('FIELD_INVALID /toString');
    });
  }

  it('is kept inside the parameters, whose schema decides', async () => {
    const harness = await CoreHarness.open();
    expect(orThrow(readGenerationRequest(STATELESS_PORTS, harness.body({ style: null }))).content).to.deep.equal(
      harness.body({ style: null }),
    );
    await expectCode(
      'FIELD_INVALID',
      estimateGeneration(harness.context, harness.caller, harness.body({ style: null })),
    );
    await expectCode('OK', estimateGeneration(harness.context, harness.caller, harness.body({}, { parameters: null })));
  });

  it('does not turn a repeat into another request, whichever of the two came first', async () => {
    const bytes = plainImage();
    for (const nulls of [['first'], ['second'], ['first', 'second']]) {
      const harness = await CoreHarness.open();
      const { context, caller } = harness;
      const when = (turn: string, fields: JsonObject): JsonObject => (nulls.includes(turn) ? fields : {});
      for (const turn of ['first', 'second']) {
        const replayed = turn === 'second';
        const generation = harness.body(
          {},
          when(turn, { negative_prompt: null, reference_upload_ids: null, client_trace_id: null }),
        );
        expect(await createGeneration(context, caller, 'g', generation)).to.have.property('replayed', replayed);
        const prepared = await prepareUpload(context, caller, 'p', {
          ...UPLOAD,
          byte_size: bytes.byteLength,
          ...when(turn, { sha256: null }),
        });
        expect(prepared).to.have.property('replayed', replayed);
        send(harness, prepared, bytes);
        expect(
          await completeUpload(context, caller, 'c', prepared.upload.uploadId, when(turn, { sha256: null })),
        ).to.have.property('replayed', replayed);
      }
    }
  });

  it('does not change the digest of a request without null fields', async () => {
    const harness = await CoreHarness.open();
    const {
      caller: { accountId, appId },
      ports,
    } = harness;
    await harness.post('g', harness.body({ count: 2 }, { client_trace_id: null }));
    await prepare(harness, plainImage(), { sha256: null }, 'p');
    const digestOf = async (operation: 'create' | 'prepare', key: string) => {
      const outcome = await ports.claims.insert({
        accountId,
        appId,
        operation,
        key,
        version: 1,
        digest: 'other',
        subjectId: ports.ids.uuid(),
        createdAt: 0,
        leaseExpiresAt: 0,
        removeAt: 1,
      });
      return outcome.inserted ? undefined : outcome.existing.digest;
    };
    expect(await digestOf('create', 'g')).to.equal(ports.digests.ofJson(harness.body({ count: 2 })));
    expect(await digestOf('prepare', 'p')).to.equal(
      ports.digests.ofJson({
        filename: 'house.png',
        media_type: 'image/png',
        byte_size: plainImage().byteLength,
        role: 'reference_image',
      }),
    );
  });
});
