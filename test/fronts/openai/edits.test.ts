import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { SandboxProvider } from '../../../adapters/providers/sandbox/sandbox-provider.js';
import type { Model } from '../../../core/catalog/model.js';
import type { JsonObject } from '../../../core/json.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import type { UploadUsage } from '../../../core/uploads/upload.js';
import { collected } from '../../fixtures/byte-streams.js';
import { image } from '../../fixtures/images.js';
import type { Owner } from '../../fixtures/memory-stores.js';
import { catalogOf, MODELS } from '../../fixtures/models.js';
import { CannedProvider, connectedProviders, PROMISES } from '../../fixtures/scripted-provider.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { RawConnections } from '../http/host/raw-socket.js';
import { formBytes, type SentPart } from './form-server.js';
import { type ApiAnswer, OpenAiHarness, type Sent } from './openai-harness.js';

// Goal: a request that edits pictures takes its files as uploads of the App, once for each generation, and pays once; a
// refused one leaves neither a file nor a charge; a mask decides exactly what is painted anew. Method: forms over real
// connections to a whole service in this process, whose models are painted by the sandbox or deliver a known picture.
// Every test ends with the balance, the check of the books and the room on disk.

const EDITS = '/v1/images/edits';
const SIDE_PX = 64;
const [PICTURE] = MODELS as [Model];
const { properties } = PICTURE.inputSchema as { readonly properties: JsonObject };
const PAINTED: Model = {
  ...PICTURE,
  modelKey: 'painted',
  inputSchema: { ...PICTURE.inputSchema, properties: { ...properties, size: { type: 'string', enum: ['64x64'] } } },
  route: [{ provider: 'sandbox', settings: { painter: 'image' }, weight: 1 }],
};
const FILLED: Model = {
  ...PICTURE,
  modelKey: 'filled',
  requiredRoles: ['reference_image'],
  route: [{ provider: 'filler', settings: {}, weight: 1 }],
};
const WORDS_ONLY: Model = {
  ...PICTURE,
  modelKey: 'words-only',
  limits: { ...PICTURE.limits, maxReferenceUploads: 0, referenceRoles: [] },
};
const SMALL: Model = {
  ...PICTURE,
  modelKey: 'small',
  limits: { ...PICTURE.limits, maxUploadBytes: 5_000, uploadMediaTypes: ['image/png'], maxReferenceUploads: 1 },
};

describe('a request that edits pictures', () => {
  const connections = new RawConnections();
  let folder: string;
  let sandbox: SandboxProvider;
  let api: OpenAiHarness;
  let png: Uint8Array;
  let paid: number;
  let objectKeys: Set<string>;
  let isDiskFull = false;

  const open = async (maxBytes: number): Promise<OpenAiHarness> => {
    const canned = new CannedProvider(await image('png', 96, 64));
    const filler = Object.assign(new CannedProvider(await image('png', 96, 64)), {
      capabilities: () => ({ ...PROMISES, maxMaskedReferences: 1, needsMask: true }),
    });
    return OpenAiHarness.open(
      { spool: { folder, maxBytes } },
      {
        settings: { maxUploadBytes: 100_000 },
        ports: {
          providers: connectedProviders({ canned, sandbox, filler }),
          catalog: catalogOf(() => [...MODELS, PAINTED, FILLED, WORDS_ONLY, SMALL]),
        },
        around: (ports) => ({
          ...ports,
          objects: keysOf(ports.objects, (objectKeys = new Set())),
          masks: { apply: (...of) => (isDiskFull ? onFullDisk() : ports.masks.apply(...of)) },
        }),
      },
    );
  };

  before(async () => {
    png = await image('png', SIDE_PX, SIDE_PX);
  });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'edits-'));
    sandbox = new SandboxProvider({ clock: new SystemClock() });
    api = await open(64 * 1024 ** 2);
    paid = 0;
  });
  afterEach(async () => {
    await api.expectPaid(paid);
    connections.close();
    await api.close();
    await sandbox.close();
    await rm(folder, { recursive: true });
  });

  const TEXTS = { model: 'picture', prompt: 'a sea', size: '96x64' };
  const texts = (fields: Readonly<Record<string, string>> = TEXTS): SentPart[] =>
    Object.entries(fields).map(([name, content]) => ({ name, content }));
  const file = (name: string, content: string | Uint8Array = png): SentPart => ({ name, content, filename: 'upload' });

  const edit = (parts: readonly SentPart[], headers: Sent = {}, boundary = 'some-boundary'): Promise<ApiAnswer> =>
    api.send(EDITS, {
      method: 'POST',
      headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}`, ...headers },
      body: new Uint8Array(formBytes(parts, boundary)),
    });

  const uploads = async ({ accountId, appId }: Owner = api.owner): Promise<UploadUsage> =>
    api.context.uploads.usage(accountId, appId);

  /** The stored bytes of the references of the newest generation. */
  const references = async (): Promise<Uint8Array[]> => {
    const { references: stored = [] } = (await api.generations()).at(-1) ?? {};
    return Promise.all(
      stored.map(async ({ objectKey }) =>
        collected((await api.context.objects.read(objectKey)) ?? (async function* none() {})()),
      ),
    );
  };

  it('takes one picture as an upload with its retention, and answers with what was made of it', async () => {
    await api.service.startWorker();
    const before = await uploads();
    const { status, body } = await edit([...texts(), file('image')]);
    paid = 10;
    expect(status).to.equal(200);
    expect(body).to.have.nested.property('darkroom.charged_credits', 10);
    expect(body).to.have.nested.property('data[0].b64_json').that.is.a('string');
    expect((await references()).map(sha256Of)).to.deep.equal([sha256Of(png)]);
    expect((await uploads()).uploads - before.uploads).to.equal(1);
    const [reference] = (await api.generations()).at(-1)?.references ?? [];
    const upload = await api.context.uploads.read(reference?.uploadId ?? '');
    expect(upload).to.include({
      status: 'ready',
      role: 'reference_image',
      mediaType: 'image/png',
      filename: 'image.png',
    });
  });

  it('takes several pictures of any type in their order, by their bytes', async () => {
    await api.service.startWorker();
    const sent = [png, await image('jpeg'), await image('webp'), await image('png', 20, 10)];
    const type = ['Content-Type: application/octet-stream'];
    const parts = sent.map((bytes) => ({ ...file('image[]', bytes), headers: type }));
    expect((await edit([...parts, ...texts()])).status).to.equal(200);
    paid = 10;
    expect((await references()).map(sha256Of)).to.deep.equal(sent.map(sha256Of));
  });

  it('passes the texts of the form on as what the model takes', async () => {
    await api.service.startWorker();
    const fields = { ...TEXTS, n: '2', seed: '7', quality: 'high', input_fidelity: 'high', response_format: 'url' };
    const { status, body } = await edit([...texts(fields), file('image')]);
    paid = 20;
    expect(status).to.equal(200);
    expect(body['data']).to.have.length(2);
    expect((await api.generations()).at(-1)?.parameters).to.include({ n: 2, seed: 7, size: '96x64' });
  });

  it('is streamed as events of edits', async () => {
    await api.service.startWorker();
    const boundary = 'b';
    const response = await api.fetch(EDITS, {
      method: 'POST',
      headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
      body: new Uint8Array(formBytes([...texts({ ...TEXTS, stream: 'true' }), file('image')], boundary)),
    });
    paid = 10;
    expect(await response.text()).to.match(/^event: image_edit\.completed\ndata: \{"type":"image_edit\.completed",/m);
  });

  it('is matched when it is repeated with another boundary, and then takes no file again', async () => {
    const parts = [...texts(), file('image'), file('image[]', await image('jpeg'))];
    const first = connections.open(api.running.port);
    const sent = formBytes(parts, 'first');
    first.write(
      `POST ${EDITS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.secret()}\r\nContent-Type: multipart/form-data; boundary=first\r\nContent-Length: ${sent.byteLength}\r\n\r\n`,
    );
    first.write(sent);
    while ((await api.generations()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    first.destroy();
    const before = await uploads();
    await api.service.startWorker();
    const again = await edit(parts, {}, 'second');
    const retried = await edit(parts, { 'x-stainless-retry-count': '1' }, 'third');
    paid = 10;
    const [generation, ...others] = await api.generations();
    expect(others).to.deep.equal([]);
    for (const { status, body } of [again, retried]) {
      expect(status).to.equal(200);
      expect(body).to.have.nested.property('darkroom.generation_id', generation?.generationId);
    }
    expect(await uploads()).to.deep.equal(before);
  });

  it('is another request with another file, with the files in another order, and after the first was answered', async () => {
    await api.service.startWorker();
    const jpeg = await image('jpeg');
    const forms = [
      [file('image'), file('image', jpeg)],
      [file('image', jpeg), file('image')],
      [file('image', jpeg), file('image', jpeg)],
    ];
    for (const files of [...forms, ...forms]) expect((await edit([...texts(), ...files])).status).to.equal(200);
    paid = 60;
    expect(await api.generations()).to.have.length(6);
  });

  it('has an idempotency key that covers its files', async () => {
    await api.service.startWorker();
    const key = { 'Idempotency-Key': 'k' };
    const ids = [];
    for (const boundary of ['one', 'two'])
      ids.push(
        ((await edit([...texts(), file('image')], key, boundary)).body['darkroom'] as JsonObject)['generation_id'],
      );
    const other = await edit([...texts(), file('image', await image('jpeg'))], key);
    paid = 10;
    expect(ids[0]).to.equal(ids[1]);
    expect([other.status, other.error['code']]).to.deep.equal([422, 'idempotency_key_reused']);
  });

  const GIF = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64');
  type Refusal = readonly [status: number, code: string, param: string | null];
  const refusals: readonly (readonly [what: string, parts: () => Promise<SentPart[]> | SentPart[], Refusal])[] = [
    ['no picture', () => texts(), [400, 'missing_required_parameter', 'image']],
    ['a GIF', () => [...texts(), file('image', GIF)], [400, 'invalid_image_format', 'image']],
    ['an empty file', () => [...texts(), file('image', '')], [400, 'invalid_image_format', 'image']],
    ['a picture that is cut', () => [...texts(), file('image', png.subarray(0, 900))], [400, 'invalid_value', 'image']],
    [
      'more pictures than the model takes',
      () => [...texts({ ...TEXTS, model: 'small' }), file('image'), file('image')],
      [400, 'invalid_value', 'image'],
    ],
    [
      'a picture that is too large for the model',
      () => [...texts({ ...TEXTS, model: 'small' }), file('image')],
      [413, 'file_too_large', 'image'],
    ],
    [
      'a type that the model does not take',
      async () => [...texts({ ...TEXTS, model: 'small' }), file('image', await image('jpeg'))],
      [400, 'invalid_image_format', 'image'],
    ],
    [
      'a file above the limit',
      () => [...texts(), file('image', new Uint8Array(100_001))],
      [413, 'file_too_large', 'image'],
    ],
    [
      'a model that takes no pictures',
      () => [...texts({ ...TEXTS, model: 'words-only' }), file('image')],
      [400, 'invalid_value', 'image'],
    ],
    [
      'a model of videos',
      () => [...texts({ ...TEXTS, model: 'clip' }), file('image')],
      [400, 'invalid_value', 'model'],
    ],
    [
      'an unknown model',
      () => [...texts({ ...TEXTS, model: 'none' }), file('image')],
      [404, 'model_not_found', 'model'],
    ],
    ['an unknown field', () => [...texts({ ...TEXTS, sede: '7' }), file('image')], [400, 'unknown_parameter', 'sede']],
    ['an unknown file', () => [...texts(), file('image'), file('markup')], [400, 'unknown_parameter', 'markup']],
    [
      'a size that the model lacks',
      () => [...texts({ ...TEXTS, size: '1x1' }), file('image')],
      [400, 'invalid_value', 'size'],
    ],
    ['two prompts', () => [...texts(), ...texts({ prompt: 'b' }), file('image')], [400, 'invalid_value', 'prompt']],
    ['a blank prompt', () => [...texts({ ...TEXTS, prompt: ' ' }), file('image')], [400, 'invalid_value', 'prompt']],
    ['an address', () => [...texts({ ...TEXTS, image: 'https://a.example/b.png' })], [400, 'invalid_value', 'image']],
    [
      'a mask that its model does not take',
      () => [...texts(), file('image'), file('mask')],
      [400, 'invalid_value', 'mask'],
    ],
    [
      'a picture without the mask that its model needs',
      () => [...texts({ ...TEXTS, model: 'filled' }), file('image')],
      [400, 'missing_required_parameter', 'mask'],
    ],
    ['a mask without alpha', () => [...texts(painted), file('image'), file('mask')], [400, 'invalid_value', 'mask']],
    [
      'a mask of another size',
      async () => [...texts(painted), file('image'), file('mask', await maskOf(() => 0, SIDE_PX, 32))],
      [400, 'invalid_value', 'mask'],
    ],
    [
      'a mask that is a JPEG',
      async () => [...texts(painted), file('image'), file('mask', await image('jpeg', SIDE_PX, SIDE_PX))],
      [400, 'invalid_value', 'mask'],
    ],
    [
      'a mask that is not a picture',
      () => [...texts(painted), file('image'), file('mask', GIF)],
      [400, 'invalid_image_format', 'mask'],
    ],
    [
      'a mask that is cut',
      async () => [...texts(painted), file('image'), file('mask', (await maskOf((x) => x * 4)).subarray(0, 150))],
      [400, 'invalid_value', 'mask'],
    ],
    [
      'a second picture with transparent areas',
      async () => {
        const mask = await maskOf(() => 0);
        return [...texts(painted), file('image'), file('image', mask), file('mask', mask)];
      },
      [400, 'invalid_value', 'image'],
    ],
  ];
  const painted = { ...TEXTS, model: 'painted', size: '64x64' };
  for (const [what, parts, refusal] of refusals) {
    it(`refuses ${what}, and keeps no file`, async () => {
      const { status, error } = await edit(await parts());
      expect([status, error['code'], error['param']], JSON.stringify(error)).to.deep.equal(refusal);
      // A mask that follows the message must not be refused for the same reason.
      if (refusal[2] === 'mask') expect(error['message']).not.to.match(/JPEG/);
      expect([...objectKeys]).to.deep.equal([]);
      expect((await uploads()).unfinished).to.equal(0);
      expect(await api.generations()).to.deep.equal([]);
    });
  }

  it('is made by a model that needs a mask, whether it is the file mask or the transparency of the picture', async () => {
    await api.service.startWorker();
    const mask = await maskOf((x) => x * 4);
    for (const files of [[file('image'), file('mask', mask)], [file('image', mask)]]) {
      expect((await edit([...texts({ ...TEXTS, model: 'filled' }), ...files])).status).to.equal(200);
      paid += 10;
    }
    const { error } = await api.send('/v1/images/generations', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...TEXTS, model: 'filled' }),
    });
    expect(error['message']).to.equal('image is required, with a mask, for filled; send them to /images/edits.');
  });

  it('refuses JSON', async () => {
    const { status, error } = await api.send(EDITS, { method: 'POST', body: JSON.stringify(TEXTS) });
    expect([status, error['code']]).to.deep.equal([400, 'invalid_body']);
    expect(error['message']).to.match(/multipart\/form-data/);
  });

  it('stores no file for an account without enough credits', async () => {
    const parts = [...texts({ ...TEXTS, n: '4' }), file('image')];
    const poor = await api.service.authenticator.authenticate(api.secret('poor'), 'rest');
    const before = await uploads(poor);
    const { status, error } = await edit(parts, { Authorization: `Bearer ${api.secret('poor')}` });
    expect([status, error['code']]).to.deep.equal([402, 'insufficient_quota']);
    expect(await uploads(poor)).to.deep.equal(before);
  });

  it('refuses a credential without one of the scopes before it asks for the body', async () => {
    for (const credential of ['poor-writer', 'only credits:read']) {
      const { status, error } = await edit([file('image')], { Authorization: `Bearer ${api.secret(credential)}` });
      expect([status, error['code']]).to.deep.equal([403, 'missing_scope']);
    }
  });

  it('counts as one write whatever its size', async () => {
    const limited = await OpenAiHarness.open({
      spool: { folder, maxBytes: 64 * 1024 ** 2 },
      limits: { writesPerMinute: 2 },
    });
    try {
      await limited.service.startWorker();
      const body = new Uint8Array(formBytes([...texts(), file('image', await image('png', 200, 200))], 'b'));
      const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
      const statuses = [];
      for (let sent = 0; sent < 3; sent += 1)
        statuses.push((await limited.send(EDITS, { method: 'POST', headers, body })).status);
      expect(body.byteLength).to.be.greaterThan(100_000);
      expect(statuses).to.deep.equal([200, 200, 429]);
      await limited.expectPaid(20);
    } finally {
      await limited.close();
    }
  });

  it('applies a mask to a picture that as a PNG may take more than all the room on disk', async () => {
    const side = 800;
    const small = await open(1024 ** 2);
    try {
      await small.service.startWorker();
      const flat = { create: { width: side, height: side, channels: 3, background: '#123456' } } as const;
      const picture = await sharp(flat).png().toBuffer();
      const parts = [...texts(painted), file('image', picture), file('mask', await maskOf(() => 255, side, side))];
      const { status } = await small.send(EDITS, {
        method: 'POST',
        headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
        body: new Uint8Array(formBytes(parts, 'b')),
      });
      expect(status).to.equal(200);
      await small.expectPaid(10);
    } finally {
      await small.close();
    }
  });

  it('is to be sent again where the disk is full while its mask is applied', async () => {
    await api.service.startWorker();
    const parts = [...texts(painted), file('image'), file('mask', await maskOf(() => 0))];
    isDiskFull = true;
    const refused = await edit(parts);
    isDiskFull = false;
    expect([refused.status, refused.error['code'], refused.headers.get('retry-after')]).to.deep.equal([
      503,
      'service_unavailable',
      '5',
    ]);
    expect((await edit(parts)).status).to.equal(200);
    paid = 10;
    expect(await api.generations()).to.have.length(1);
  });

  it('paints anew exactly what its mask has transparent', async () => {
    await api.service.startWorker();
    const isClear = (x: number, y: number) => (x + y) % 3 === 0 || x < 20;
    const mask = await maskOf((x, y) => (isClear(x, y) ? 0 : 255));
    const { status, body } = await edit([...texts(painted), file('image'), file('mask', mask)]);
    paid = 10;
    expect(status).to.equal(200);
    const [{ b64_json = '' } = {}] = body['data'] as unknown as readonly { b64_json?: string }[];
    const [sent, made] = await Promise.all([png, Buffer.from(b64_json, 'base64')].map(coloursOf));
    let changed = 0;
    for (let at = 0; at < SIDE_PX * SIDE_PX; at += 1) {
      const [x, y] = [at % SIDE_PX, Math.floor(at / SIDE_PX)];
      const isKept = [0, 1, 2].every((channel) => sent?.[at * 3 + channel] === made?.[at * 3 + channel]);
      if (!isClear(x, y)) expect(isKept, `${x}, ${y}`).to.equal(true);
      else if (!isKept) changed += 1;
    }
    expect(changed).to.be.greaterThan(1_500);
    const [stored = new Uint8Array()] = await references();
    expect(await coloursOf(stored)).to.deep.equal(sent);
  });
});

/** The library of the masks fails like this where the disk is full. */
async function onFullDisk(): Promise<never> {
  await sharp({ create: { width: 8, height: 8, channels: 4, background: 'red' } })
    .png()
    .toFile('/dev/full');
  throw new Error('The device /dev/full took a picture.');
}

/** The store, with the keys of the objects that it has. */
function keysOf(objects: ObjectStore, keys: Set<string>): ObjectStore {
  return {
    signPut: (target) => objects.signPut(target),
    signGet: (target) => objects.signGet(target),
    stat: (key) => objects.stat(key),
    read: (key, range) => objects.read(key, range),
    write: (key, ...written) => {
      keys.add(key);
      return objects.write(key, ...written);
    },
    copy: (from, to, etag) => {
      keys.add(to);
      return objects.copy(from, to, etag);
    },
    remove: (key) => {
      keys.delete(key);
      return objects.remove(key);
    },
  };
}

/** A black PNG with this alpha. */
function maskOf(alpha: (x: number, y: number) => number, width = SIDE_PX, height = SIDE_PX): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 4);
  for (let at = 0; at < width * height; at += 1) pixels[at * 4 + 3] = alpha(at % width, Math.floor(at / width));
  return sharp(pixels, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer();
}

function coloursOf(bytes: Uint8Array): Promise<Buffer> {
  return sharp(bytes).removeAlpha().raw().toBuffer();
}
