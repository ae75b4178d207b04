import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError } from '../../../../adapters/http/http-error.js';
import { sdcppDriver } from '../../../../adapters/providers/sdcpp/sdcpp-driver.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { submitted, WANTED } from '../../../contracts/provider.contract.js';
import { breakingOff } from '../../../fixtures/byte-streams.js';
import { image } from '../../../fixtures/images.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { FakeServer } from '../../../providers/fakes/fake-server.js';
import { jsonFault } from '../../../providers/fakes/faults.js';
import { HELD_STEPS, SdcppFake } from '../../../providers/fakes/sdcpp-fake.js';
import { expectRefused, failureOf, referenceOf, settingsFaultOf, vendorForEach } from '../vendor-subject.js';
import { sdcppAt, SETTINGS, task } from './opened-sdcpp.js';

const FOR_EACH = { openFake: () => SdcppFake.open(), providerAt: (base: string) => sdcppAt(base), task };

/*
 * Goal: settings that sd-server would take and silently change are refused in one sentence when the catalog is read,
 * and a connection check reports what the server lacks.
 * Method: settings with one mistake each; the capabilities of a fake.
 */

const fault = settingsFaultOf(sdcppDriver);
const field = (name: string, rule: JsonObject) => fault({ fields: { [name]: rule } });

describe('settings of a model of sd-server', () => {
  it('are those of the example, and may be none', () => {
    for (const settings of [SETTINGS, {}]) expect(fault(settings)).to.equal(undefined);
  });

  it('are refused in one sentence', () => {
    const wrongField = (name: string, rule: JsonObject): JsonObject => ({ fields: { [name]: rule } });
    expectRefused(fault, [
      [{ size: { value: '512x512' } }, 'unknown field "size".'],
      [{ references: 'mask_image' }, 'references must be one of init_image, ref_images.'],
      [
        wrongField('sample_params.sample_steps', { parameter: 'steps', type: 'integer', minimum: 1, maximum: 150 }),
        'fields.sample_params.sample_steps must not allow 150: it is a number of type integer from 1 to 100.',
      ],
      [
        wrongField('seed', { parameter: 'seed', type: 'number', minimum: 0, maximum: 1 }),
        'fields.seed must have the type integer.',
      ],
      [
        wrongField('strength', { value: '0.5' }),
        'fields.strength must not allow "0.5": it is a number of type number from 0 to 1.',
      ],
      [
        wrongField('output_format', { parameter: 'format', type: 'string', enum: ['png', 'gif'] }),
        'fields.output_format must not allow "gif": it is one of png, jpeg, webp.',
      ],
      [
        wrongField('sample_params.scheduler', { parameter: 'scheduler', type: 'string', max_length: 20 }),
        'fields.sample_params.scheduler needs an enum.',
      ],
      [
        wrongField('seed', { parameter: 'seed', type: 'integer', minimum: 0 }),
        'fields.seed needs an enum, or a minimum and a maximum that is not below it.',
      ],
    ]);
  });

  it('have sizes that the server takes', () => {
    for (const value of ['64x64', '512x768', '1024x1024', '4096x64'])
      expect(field('size', { value })).to.equal(undefined);
    for (const value of ['512', '512x', '500x512', '32x32', '8192x64', '512X512', '0512x512x1', '-64x64'])
      expect(field('size', { value }), value).to.match(/^fields\.size must not allow /);
    expect(field('size', { parameter: 'size', type: 'string', pattern: '\\d+x\\d+' })).to.equal(
      'fields.size needs an enum.',
    );
  });

  it('may leave the size to a parameter within the bounds of the server', () => {
    const bounded = { parameter: 'size', size: '{w}x{h}', minimum: 64, maximum: 4_096, multiple_of: 8 };
    for (const own of [{}, { minimum: 128, maximum: 512, multiple_of: 64 }])
      expect(field('size', { ...bounded, ...own })).to.equal(undefined);
    const tooWide = [{ minimum: 63 }, { maximum: 4_097 }, { multiple_of: 4 }, { size: '{h}x{w}' }, { size: 'object' }];
    for (const own of tooWide)
      expect(field('size', { ...bounded, ...own }), JSON.stringify(own)).to.equal(
        'fields.size needs the size "{w}x{h}", a minimum from 64, a maximum up to 4096, and a multiple_of 8.',
      );
    for (const name of ['seed', 'output_format', 'vae_tiling_params.enabled'])
      expect(field(name, { ...bounded, size: 'width' }), name).to.match(/^fields\.\S+ may not have a size: it is /);
    expect(field('output_compression', { value: [1] })).to.match(/^fields\.output_compression must not allow \[1\]: /);
  });

  it('name no field beyond the list: what it does not know the server takes for nothing', () => {
    for (const name of 'width prompt batch_count lora hires.enabled embed_image_metadata constructor'.split(' '))
      expect(field(name, { value: 1 }), name).to.match(
        new RegExp(`^fields\\.${name} is no field that settings can set; `),
      );
  });

  it('name LoRA files below the folder of the server', () => {
    expect(fault({ loras: [{ path: 'film/grain.safetensors', multiplier: 0.8 }] })).to.equal(undefined);
    for (const path of ['/etc/passwd', '../x', 'a/../../x', 'a\\x', ''])
      expect(fault({ loras: [{ path }] }), path).to.match(/^loras\[0\]\.path /);
  });

  it('are not of a model for videos', () => {
    expect(sdcppDriver.settingsFault?.(SETTINGS, { ...IMAGE_PLACE, modality: 'video' })).to.equal(
      'The videos of stable-diffusion.cpp are WebM, AVI or animated WebP, which are not delivered; use it for pictures.',
    );
  });
});

describe('a try of the connection to sd-server', () => {
  let fake: SdcppFake;
  before(async () => void (fake = await SdcppFake.open()));
  after(() => fake.close());

  const check = async (settings: JsonObject, base = fake.url) => {
    const tried = sdcppAt(base);
    try {
      return await tried.check([settings], WANTED);
    } finally {
      await tried.close();
    }
  };

  it('reports which server answers', async () => {
    expect(await check(SETTINGS)).to.deep.equal({ about: 'sd-server with zero.safetensors', faults: [] });
  });

  it('says in one sentence what of the settings the server does not have', async () => {
    const fields: JsonObject = {
      'sample_params.sample_method': { value: 'euler_b' },
      'sample_params.scheduler': { parameter: 's', type: 'string', enum: ['karras', 'none_such'] },
    };
    expect((await check({ fields, loras: [{ path: 'x.safetensors' }] })).faults).to.deep.equal([
      'The server has no euler_b for fields.sample_params.sample_method; it has euler, euler_a.',
      'The server has no none_such for fields.sample_params.scheduler; it has discrete, karras.',
      'The server has no LoRA file x.safetensors.',
    ]);
  });

  it('reports that the path of base_url is wrong', async () => {
    expect((await check(SETTINGS, `${fake.url}/sdcpp`)).faults).to.deep.equal([
      `${fake.url}/sdcpp is not sd-server with its native routes (status 404); check base_url.`,
    ]);
  });
});

/*
 * Goal: sd-server, which takes anything, is sent what the settings allow and nothing else; an impossible task is
 * refused before it is sent.
 * Method: the bodies of requests as a fake receives them; fast-check for parameters of any kind.
 */

describe('requests to sd-server', () => {
  const vendor = vendorForEach(FOR_EACH);

  const lastBody = () => JSON.parse(vendor.server.requests.at(-1)?.body.toString() ?? '') as JsonObject;
  const sent = async (wish: Partial<Submission> = {}): Promise<JsonObject> => {
    expect(await vendor.submit(wish)).to.have.property('accepted', true);
    return lastBody();
  };

  it('have the fields of the settings, the prompts, as many pictures as were paid for, and no metadata', async () => {
    const parameters = { steps: 4, format: 'webp', seed: 7, width: 4_096, n: 9, other: 'x' };
    const settings = { ...SETTINGS, loras: [{ path: 'film/grain.safetensors', multiplier: 0.5 }] };
    vendor.fake.takesLoras = true;
    expect(await sent({ parameters, settings, negativePrompt: 'fog', outputCount: 3 })).to.deep.equal({
      prompt: 'a lighthouse',
      negative_prompt: 'fog',
      width: 64,
      height: 64,
      seed: 7,
      output_format: 'webp',
      batch_count: 3,
      sample_params: { sample_steps: 4, guidance: { txt_cfg: 1 } },
      lora: [{ path: 'film/grain.safetensors', multiplier: 0.5 }],
      embed_image_metadata: false,
    });
  });

  it('have a seed of the task where it gives none, the same for the same task', async () => {
    const first = await sent({ token: '00000000-0000-4000-8000-000000000001' });
    const again = await sent({ token: '00000000-0000-4000-8000-000000000001' });
    const other = await sent({ token: '00000000-0000-4000-8000-000000000002' });
    expect(first['seed'])
      .to.be.a('number')
      .within(0, 2 ** 31 - 1);
    expect(again['seed']).to.equal(first['seed']);
    expect(other['seed']).to.not.equal(first['seed']);
  });

  it('have a seed that the rule of the field and the schema of the model take where the task gives none', async () => {
    const seed = (rule: JsonObject, schema: JsonObject, name = 'seed') => ({
      settings: { fields: { ...(SETTINGS['fields'] as JsonObject), seed: { parameter: name, ...rule } } },
      inputSchema: { type: 'object', properties: { [name]: schema } },
    });
    const integer = { type: 'integer', minimum: 0, maximum: 1_000 };
    for (const [wish, allowed] of [
      [seed(integer, { type: 'integer', minimum: 3, maximum: 5 }), [3, 4, 5]],
      [seed({ ...integer, maximum: 1 }, { type: 'integer' }), [0, 1]],
      [seed(integer, { enum: [7, 70] }, 'variation'), [7, 70]],
      [seed({ type: 'integer', enum: [1, 900_000] }, { type: 'integer', minimum: 2 }), [900_000]],
      [seed({ values: { calm: 11, wild: 22 } }, { type: 'string', enum: ['wild'] }), [22]],
      [seed({ values: { 1: 11, 2: 22 } }, { type: 'integer', minimum: 1, maximum: 1 }), [11]],
    ] as const)
      for (let tasks = 0; tasks < 5; tasks += 1)
        expect(allowed).to.include((await sent({ ...wish, token: randomUUID() }))['seed']);
    const unusable = seed(integer, { type: 'integer', minimum: 2_000 });
    expect(await vendor.submit(unusable)).to.have.nested.property('failure.code', 'INPUT_INVALID');
    expect(await sent({ ...unusable, settings: { fields: { seed: { value: 9 } } } })).to.include({ seed: 9 });
  });

  it('have a size that a parameter chooses from a list', async () => {
    const fields: JsonObject = { size: { parameter: 'size', type: 'string', enum: ['64x64', '128x64'] } };
    const { width, height } = await sent({ settings: { fields }, parameters: { size: '128x64' } });
    expect([width, height]).to.deep.equal([128, 64]);
    const answer = await vendor.submit({ settings: { fields }, parameters: { size: '8192x8192' } });
    expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
  });

  it('have any size within the bounds of its rule', async () => {
    const size = { parameter: 'size', size: '{w}x{h}', minimum: 64, maximum: 1_024, multiple_of: 64 };
    const settings: JsonObject = { fields: { size } };
    expect(await sent({ settings, parameters: { size: '192x128' } })).to.include({ width: 192, height: 128 });
    for (const other of ['192x100', '2048x64'])
      expect(await vendor.submit({ settings, parameters: { size: other } })).to.have.nested.property(
        'failure.code',
        'INPUT_INVALID',
      );
  });

  it('have a drawn seed within the bounds of a rule with a rate and an offset', async () => {
    const seed = { parameter: 'seed', type: 'integer', times: 10, plus: 3, minimum: 100, maximum: 200 };
    const inputSchema = { type: 'object', properties: { seed: { type: 'integer', minimum: 0, maximum: 15 } } };
    for (let tasks = 0; tasks < 20; tasks += 1) {
      const { seed: drawn } = await sent({ settings: { fields: { seed } }, inputSchema, token: randomUUID() });
      expect(drawn).to.be.within(100, 153);
      expect(Number(drawn) % 10).to.equal(3);
    }
  });

  it('have a reference as base64, whatever pieces it comes in', async () => {
    const picture = await image('png');
    const { init_image: first } = await sent({ references: [referenceOf(picture)] });
    expect(first).to.equal(Buffer.from(picture).toString('base64'));
    const both = await sent({
      settings: { ...SETTINGS, references: 'ref_images' },
      references: [referenceOf(picture), referenceOf(picture)],
    });
    expect(both['ref_images']).to.deep.equal([first, first]);
    expect(both).to.not.have.property('init_image');
  });

  it('never have a parameter that the rules do not allow', async () => {
    const parameters = fc.dictionary(
      fc.constantFrom('steps', 'format', 'seed', 'width', 'prompt', 'batch_count', 'lora', 'hires', '__proto__'),
      fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
    );
    const names = ['prompt', 'negative_prompt', 'width', 'height', 'seed', 'output_format', 'batch_count', 'lora'];
    await fc.assert(
      fc.asyncProperty(parameters, async (given) => {
        const before = vendor.server.posts;
        const answer = await vendor.submit({ parameters: given });
        if (!answer.accepted) return void expect(vendor.server.posts).to.equal(before);
        const body = lastBody();
        expect([...names, 'sample_params', 'embed_image_metadata']).to.include.members(Object.keys(body));
        expect(body).to.deep.include({ prompt: 'a lighthouse', batch_count: 1, lora: [], width: 64 });
        vendor.fake.jobs.forget();
      }),
      { numRuns: 60 },
    );
  });

  it('are not made of a prompt or a negative prompt with a command', async () => {
    const args = 'a <sd_cpp_extra_args>{"width":4096}</sd_cpp_extra_args>';
    for (const prompt of ['a <lora:other:1> b', 'a < LoRA : x:1>', args, '<SD_CPP_EXTRA_ARGS'])
      for (const wish of [{ prompt }, { negativePrompt: prompt }])
        expect(await vendor.refusedUnsent(wish), prompt).to.equal('INPUT_INVALID');
  });

  it('are not made of a task that the server would change, or that the settings do not allow', async () => {
    const picture = referenceOf(await image('png'));
    for (const [wish, code] of [
      [{ outputCount: 9 }, 'INPUT_INVALID'],
      [{ references: [picture, picture] }, 'INPUT_INVALID'],
      [{ references: [picture], settings: { fields: {} } }, 'INPUT_INVALID'],
      [{ parameters: { steps: 101 } }, 'INPUT_INVALID'],
      [{ operation: 'video_generation' }, 'MODEL_UNAVAILABLE'],
      [{ settings: { fields: { unknown: { value: 1 } } } }, 'MODEL_UNAVAILABLE'],
    ] as const)
      expect(await vendor.refusedUnsent(wish)).to.equal(code);
  });

  it('are refused with a reference that the server cannot read, for the client to change', async () => {
    const answer = await vendor.submit({ references: [referenceOf(Buffer.from('no picture'))] });
    expect(answer).to.have.nested.property('failure.code', 'INPUT_INVALID');
  });

  it('may be made again where a reference could not be read to its end, as nothing was taken', async () => {
    const picture = await image('png');
    for (const open of [
      async () => breakingOff(picture),
      async () => Promise.reject(new Error('The store is away.')),
    ]) {
      const answer = await vendor.submit({
        references: [{ ...referenceOf(picture), byteSize: picture.byteLength + 9, open }],
      });
      expect(answer).to.have.nested.property('failure.code', 'PROVIDER_UNAVAILABLE');
      expect(answer).to.have.nested.property('failure.mayRetry', true);
    }
    await vendor.server.settled();
    expect(vendor.fake.jobs.size).to.equal(0);
  });
});

/*
 * Goal: the state of a job is reported accurately, and pictures of any size are streamed without being buffered.
 * Method: a fake sd-server whose jobs end as the test decides; a server whose answer is larger than the memory allowed.
 */

const PICTURE = { kind: 'image', mediaType: 'image/png' } as const;
const MEBIBYTE = 1024 * 1024;

describe('jobs of sd-server', () => {
  const vendor = vendorForEach(FOR_EACH);

  const outputs = async (reference: string, count: number): Promise<Uint8Array[]> => {
    const read: Uint8Array[] = [];
    for (let index = 0; index < count; index += 1) read.push(await vendor.output(reference, index));
    return read;
  };

  it('have run while they wait and while they are made', async () => {
    const running = await submitted(vendor.provider, task({ parameters: { steps: HELD_STEPS } }));
    const waiting = await submitted(vendor.provider, task());
    expect(await vendor.poll(running)).to.deep.equal({ state: 'running' });
    expect(await vendor.poll(waiting)).to.deep.equal({ state: 'running' });
    await vendor.fake.jobs.release();
    expect(await vendor.poll(running)).to.have.property('state', 'succeeded');
  });

  it('have each of their pictures, in the order and the format of the server', async () => {
    const { reference, last } = await vendor.ended({ outputCount: 2, parameters: { steps: 1, format: 'webp' } });
    expect(last).to.have.deep.property('outputs', [
      { kind: 'image', mediaType: 'image/webp' },
      { kind: 'image', mediaType: 'image/webp' },
    ]);
    for (const bytes of await outputs(reference, 2))
      expect(Buffer.from(bytes).toString('latin1', 8, 12)).to.equal('WEBP');
  });

  it('have pictures of any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 4_000 }), async (bytes) => {
        vendor.fake.pictureText = Buffer.from(bytes).toString('base64');
        const { reference } = await vendor.ended();
        expect(await outputs(reference, 1)).to.deep.equal([bytes]);
      }),
      { numRuns: 30 },
    );
  });

  it('have an end that is no longer known after ten minutes: another attempt may follow', async () => {
    const { reference } = await vendor.ended();
    vendor.fake.jobs.advance(600);
    const report = await vendor.poll(reference);
    expect(report).to.have.nested.property('failure.mayRetry', true);
    vendor.fake.jobs.advance(600);
    expect(await vendor.poll(reference)).to.deep.equal({ state: 'unknown' });
  });

  it('are unknown after a restart of the server', async () => {
    const { reference } = await vendor.ended();
    vendor.fake.jobs.forget();
    expect(await vendor.poll(reference)).to.deep.equal({ state: 'unknown' });
  });

  it('are not unknown when something before the server has lost its way', async () => {
    const { reference } = await vendor.ended();
    for (const status of [404, 410]) {
      vendor.server.plan(jsonFault(status, { error: 'no such route' }), { of: 'poll' });
      expect(await failureOf(vendor.poll(reference))).to.be.instanceOf(Error);
    }
  });

  it('fail where the server has made nothing, in words that are not its own', async () => {
    vendor.fake.failsWith = 'cannot open /models/secret.gguf';
    const { last } = await vendor.ended();
    expect(last).to.have.deep.property('failure', {
      code: 'INTERNAL_ERROR',
      message: 'The provider had an internal error.',
      mayRetry: true,
    });
  });

  it('deliver nothing of a picture that is not base64', async () => {
    for (const text of ['AAAAA', 'A===', 'AAB', '!!!!', 'AAAA=AAA']) {
      vendor.fake.pictureText = text;
      const { reference } = await vendor.ended();
      expect(await failureOf(outputs(reference, 1)), text).to.be.instanceOf(Error);
    }
  });

  it('are not those that another job answers for', async () => {
    const { reference } = await vendor.ended();
    const another = { id: 'job_0_00000000', status: 'failed', error: { code: 'x', message: 'y' } };
    vendor.server.plan(jsonFault(200, another), { of: 'poll' });
    expect(await failureOf(vendor.poll(reference))).to.be.instanceOf(Error);
  });

  const result = '"result":{"images":[{"b64_json":"QUJD"}],"output_format":"png"}';
  for (const [how, answer, isOwn] of [
    ['names another one first', (_: string) => `{"id":"job_0_00000000",${result}}`, false],
    ['names another one last', (_: string) => `{${result},"id":"job_0_00000000"}`, false],
    ['names one whose id begins with theirs', (id: string) => `{"id":"${id}0",${result}}`, false],
    ['names none', (_: string) => `{${result}}`, false],
    ['has a number for the name', (_: string) => `{"id":7,${result}}`, false],
    ['names them last', (id: string) => `{${result},"id":"${id}"}`, true],
  ] as const)
    it(`${isOwn ? 'have' : 'do not have'} the picture of an answer that ${how}, and their own when asked again`, async () => {
      const { reference } = await vendor.ended();
      const [own] = await outputs(reference, 1);
      vendor.server.plan({ ...jsonFault(200, ''), body: answer(reference) }, { of: 'output' });
      const read = await outputs(reference, 1).catch((error: unknown) => error);
      if (isOwn) expect(read).to.deep.equal([Buffer.from('ABC')].map((bytes) => new Uint8Array(bytes)));
      else expect(read).to.be.instanceOf(HttpError).with.property('kind', 'bad-answer');
      expect(await outputs(reference, 1)).to.deep.equal([own]);
    });
});

describe('large answers of sd-server', () => {
  it('are read without being held: 256 MiB of base64 in each', async () => {
    const pieceText = Buffer.alloc(MEBIBYTE, 'A');
    const server = await FakeServer.open([
      {
        method: 'GET',
        path: '/sdcpp/v1/jobs/:id',
        of: 'poll',
        handle: () => ({ headers: JSON_TYPE, body: largeJob(pieceText) }),
      },
    ]);
    const reader = sdcppAt(server.url);
    try {
      const before = heldBytes();
      let most = 0;
      const watch = new AbortController();
      const watching = (async () => {
        while (!watch.signal.aborted) {
          most = Math.max(most, heldBytes() - before);
          await sleep(2);
        }
      })();
      const report = await reader.poll('job_1_00000000', SETTINGS, WANTED);
      expect(report).to.have.deep.property(
        'outputs',
        Array.from({ length: 4 }, () => PICTURE),
      );
      let read = 0;
      for await (const piece of await reader.output('job_1_00000000', 3, SETTINGS, WANTED)) read += piece.byteLength;
      expect(read).to.equal((64 * MEBIBYTE * 3) / 4);
      watch.abort();
      await watching;
      expect(most).to.be.below(64 * MEBIBYTE);
    } finally {
      await reader.close();
      await server.close();
    }
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };

/** Four pictures of 64 MiB of base64, before the state. */
async function* largeJob(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"completed":1000000002,"error":null,"id":"job_1_00000000","result":{"images":[');
  for (let index = 0; index < 4; index += 1) {
    yield Buffer.from(`${index === 0 ? '' : ','}{"b64_json":"`);
    for (let pieces = 0; pieces < 64; pieces += 1) yield piece;
    yield Buffer.from(`","index":${index}}`);
  }
  yield Buffer.from('],"output_format":"png"},"started":1000000000,"status":"completed"}');
}

function heldBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
