import { expect } from 'chai';
import { httpJsonDriver } from '../../../../adapters/providers/http-json/http-json-driver.js';
import {
  hostLists,
  type HttpJsonProvider,
  providerOn,
} from '../../../../adapters/providers/http-json/http-json-provider.js';
import { Connection } from '../../../../adapters/providers/shared/connection.js';
import type { Json, JsonObject } from '../../../../core/json.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import { submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { MEMORY_BYTES } from '../../../fixtures/marked-media.js';
import { SILENT } from '../../../fixtures/memory-stores.js';
import { IMAGE_PLACE } from '../../../fixtures/settings-place.js';
import { StudioFake } from '../../../providers/fakes/studio-fake.js';
import { orSkip } from '../../../servers/servers.js';
import { type Answering, type TlsServer, TlsServers } from '../../http/tls-servers.js';
import { expectChecked } from '../vendor-subject.js';
import { AUTH, exampleMapping, httpJsonAt, mapping, studioMapping, task } from './opened-http-json.js';

/*
 * Goal: a mapping that cannot work is refused in one sentence that names its place, and a connection check reports what
 * is wrong.
 * Method: the mapping of the example with one mistake each; a real server, and addresses without one.
 */

const place = { ...IMAGE_PLACE, options: { auth: AUTH.studio } };
const fault = (settings: JsonObject) => httpJsonDriver.settingsFault?.(settings, place);

/** The example with a member set; undefined removes it. */
function changed(path: string, value: Json | undefined): JsonObject {
  const settings = structuredClone(studioMapping());
  const names = path.split('/');
  const last = names.pop() ?? '';
  let at = settings;
  for (const name of names) {
    if (typeof at[name] !== 'object') at[name] = {};
    at = at[name] as JsonObject;
  }
  if (value === undefined) delete at[last];
  else at[last] = value;
  return settings;
}

/** A member of the example, its value, and the beginning of the sentence, from the colon where it begins with the place. */
const WRONG: readonly (readonly [path: string, value: Json | undefined, sentence: string])[] = [
  ['submit', undefined, ': submit is required.'],
  ['submit/method', 'GET', ': submit.method must be one of POST, PUT.'],
  ['webhook', 'https://elsewhere.example', ': '],
  ['submit/path', 'jobs', ': The path must begin with one slash, and have no spaces.'],
  ['submit/path', '//elsewhere.example/x', ': The path must begin with one slash, and have no spaces.'],
  ['submit/path', '/jobs/{prompt}', ': The path has {prompt}, and may have {token} in braces.'],
  ['submit/path', '/a/../admin', ': The path has a segment of dots.'],
  ['submit/path', '/a/%2E%2e/admin', ': The path has a segment of dots.'],
  ['submit/path', '/jobs#x', ': The path has a # or a backslash.'],
  ['submit/path', '/jobs/{token', ': The path has a brace that stands alone.'],
  ['submit/id_pattern', '(', ': This is no regular expression.'],
  ['submit/id', 'job', ': '],
  ['poll/path', '/jobs', ': The path must have {id}.'],
  ['poll/path', undefined, '/poll: Either path or address must be given.'],
  ['poll/address', '/url', '/poll: Either path or address must be given.'],
  ['poll/path', '/jobs/{id}/{token}', ': The path has {token}, and may have {id} in braces.'],
  ['result', {}, ': Either path or address must be given.'],
  ['recover/path', '/jobs', ': The path must have {token}.'],
  ['check_path', '/about/{id}', ': The path has {id}, and may have nothing in braces.'],
  ['headers', { Authorization: 'x' }, '/headers/Authorization: This header is not for the settings.'],
  ['headers', { 'X-Prompt': '{prompt}' }, '/headers/X-Prompt: A header is a constant, without braces.'],
  ['headers', { 'X-Two': 'a\r\nb: c' }, '/headers/X-Two: '],
  ['submit/idempotency_header', 'Host', ': This header has another use.'],
  ['submit/body/prompt', '{promt}', ': "{promt}" stands for nothing that is known.'],
  [
    'submit/body/prompt',
    'A photo of {prompt}',
    ': A placeholder is the whole text, and nothing is put together with it.',
  ],
  ['submit/body/prompt', 'a cat', '/submit/body: Nothing in it takes {prompt}.'],
  ['submit/body/edge', '{parameters.width}', ': "{parameters.width}" has no rule in parameters.'],
  ['submit/body/edge', undefined, '/parameters/edge: Nothing in submit.body takes {parameters.edge}.'],
  ['parameters/n', { type: 'integer' }, '/parameters: parameters.n needs an enum, or a minimum and a maximum'],
  ['poll/states/failed', [], ': At least one state must be listed, or failed_if be given.'],
  ['poll/states/running', ['working', 'done'], '/poll/states/succeeded: "done" is listed more than once in states.'],
  ['submit/idempotency_header', undefined, '/submit/takes_token_once: The submission does not have the token.'],
  ['recover/token', undefined, ': A pointer to the token is needed'],
  ['cancel/stops', undefined, ': cancel.stops is required.'],
  ['submit/seen_before', [{ status: 500 }], '/submit/seen_before/0/status: '],
  ['submit/refused', [{ status: 400 }], '/submit/refused/0/status: '],
  ['errors/code', undefined, ': A pointer is needed where codes are listed.'],
  [
    'errors/codes/policy',
    { code: 'INPUT_INVALID', because: 'capacity' },
    ': because capacity does not go with INPUT_INVALID.',
  ],
  ['errors/codes/policy', { code: 'TASK_EXPIRED' }, '/errors/codes/policy/code: '],
  [
    'submit/body/examples',
    ['{reference_image.0}', '{reference_image.2}'],
    '/submit/body: {reference_image.2} is taken, and {reference_image.1} is not.',
  ],
  ['submit/idempotency_header', 'X-Api-Key', ': This header has the key, as auth'],
  ['headers', { 'X-Api-Key': 'another' }, '/headers/X-Api-Key: This header has the key, as auth'],
  ['cost/currency', undefined, '/cost: money and currency are given together.'],
  ['poll/path', '/jobs/{+token}', ': The path has {+token}, and may have {id} in braces.'],
  ['poll/path', '/jobs/{result_id}', ': The path has {result_id}, and may have {id} in braces.'],
  ['submit/path', '/jobs/{+token}', ': The path has {+token}, and may have {token} in braces.'],
  ['poll/failed_if', 'error', ': '],
  ['output/withheld', ['/a', 'b'], '/output/withheld/1: '],
  ['result', { path: '/f/{result_id}' }, '/result/id: A pointer to the id in the answer about the state is needed'],
  ['result', { path: '/f/{id}', id: '/f' }, '/result/path: The path must have {result_id}.'],
  ['result', { address: '/url', id: '/f' }, '/result/id: An id is for a path, and no path is given.'],
  ['result', { path: '/f/{result_id}', id: '/files/*' }, '/result/id: It must lead to one id, without *.'],
  [
    'result',
    { path: '/{+result_id}', id: '/f' },
    '/result/id_pattern: It must be given where a path has {+result_id}, and say where the slashes are.',
  ],
  [
    'result',
    { path: '/f/{result_id}', id: '/f', id_pattern: '(' },
    '/result/id_pattern: This is no regular expression.',
  ],
  ['cancel/only_in', ['succeeded'], '/cancel/only_in/0: '],
  ['cancel/only_in', [], ': '],
  ['errors/codes/po*licy', { code: 'INPUT_INVALID' }, ': A * stands at the end, after at least'],
  ['errors/codes/*', { code: 'INPUT_INVALID' }, ': A * stands at the end, after at least three'],
  ['errors/success_codes', ['policy'], ': "policy" is also in errors.codes.'],
  ['submit/body/$if', '{prompt}', ': The body itself is always sent.'],
  [
    'submit/body/frame',
    { $when: '{prompt}', a: 1 },
    '/submit/body/frame/$when: A name that begins with $ is reserved; the one there is is $if.',
  ],
  ['submit/body/frame', { $if: true, a: 1 }, '/submit/body/frame/$if: A placeholder is needed, such as'],
  ['submit/body/frame', { $if: 'prompt', a: 1 }, '/submit/body/frame/$if: A placeholder is needed, such as'],
  ['submit/body/frame', { $if: '{promt}', a: 1 }, '/submit/body/frame/$if: "{promt}" stands for nothing'],
  ['submit/body/frame', { $if: '{parameters.x}', a: 1 }, '/submit/body/frame/$if: "{parameters.x}" has no rule'],
  ['submit/body/frame', { $if: '{prompt}' }, '/submit/body/frame/$if: Beside $if, the object must have what is sent.'],
  [
    'submit/body/prompt',
    { $if: '{reference_image.0}', text: '{prompt}' },
    '/submit/body: {prompt} must also be where no $if leaves it out.',
  ],
  [
    'submit/body/frame',
    '{start_frame.0.media_type}',
    '/submit/body: {start_frame.0.media_type} is taken, and {start_frame.0} is not.',
  ],
  ['submit/body/frame', '{start_frame.*.media_type}', ': "{start_frame.*.media_type}" stands for'],
  [
    'submit/body/mask',
    '{reference_image.0.grey_mask}',
    ': "{reference_image.0.grey_mask}" stands for nothing that is known.',
  ],
  ['submit/body/mask', '{reference_image.*.white_mask}', ': "{reference_image.*.white_mask}" stands for'],
  [
    'submit/body/mask',
    '{start_frame.0.white_mask}',
    ': "{start_frame.0.white_mask}" is never there: only a reference_image has a mask.',
  ],
  ['submit/body/mask', '{end_frame.0.with_alpha}', ': "{end_frame.0.with_alpha}" is never there: only'],
  [
    'submit/body/mask',
    '{reference_image.2.black_mask}',
    '/submit/body: {reference_image.2.black_mask} is taken, and {reference_image.2} is not.',
  ],
  [
    'submit/body/mask',
    '{reference_image.1.black_mask}',
    '/submit/body: {reference_image.1} has a mask, and {reference_image.0} has none; files with a mask come first.',
  ],
  [
    'submit/body/mask',
    ['{reference_image.0.with_alpha}', '{reference_image.0.alpha_mask}'],
    '/submit/body: {reference_image.0.with_alpha} is taken, and needs no other mask.',
  ],
  ['output/media_type', 'image/gif', '/output/media_type or a format that is sent: "image/gif" cannot be delivered'],
  ['submit/body/format', 'tiff', '/output/media_type or a format that is sent: "tiff" cannot be delivered'],
];

const TEXT: JsonObject = { type: 'string', max_length: 100 };

describe('the mapping of an API', () => {
  it('is taken where it can work', () => {
    const examples = (['veo', 'seedance', 'minimax'] as const).map(exampleMapping);
    for (const settings of [studioMapping(), mapping('replicate'), mapping('fal')])
      expect(fault(settings)).to.equal(undefined);
    for (const settings of examples)
      expect(httpJsonDriver.settingsFault?.(settings, { ...place, modality: 'video' })).to.equal(undefined);
  });

  for (const [path, value, sentence] of WRONG)
    it(`is refused with ${path} ${value === undefined ? 'left out' : `as ${JSON.stringify(value)}`}`, () => {
      const said = fault(changed(path, value));
      expect(said?.startsWith(sentence.startsWith(':') ? `/${path}${sentence}` : sentence), said).to.equal(true);
      expect(said).to.match(/^\/[^\n]*: [^\n]+\.$/);
    });

  it('keeps text of users out of members for places, addresses and options', () => {
    for (const name of ['image_url', 'imageUrl', 'model_path', 'webhook', 'extra_args', 'lora', 'mask', 'input-file']) {
      const settings = changed(`submit/body/${name}`, '{parameters.words}');
      (settings['parameters'] as JsonObject)['words'] = TEXT;
      expect(fault(settings), name).to.match(/: Text that users write cannot go to a member for places/);
      expect(fault(changed(`submit/body/${name}/text`, '{prompt}')), name).to.match(
        name === 'mask' ? /^undefined$/ : /: Text that users write cannot go/,
      );
    }
    expect(fault(changed('submit/body/image_url', '{reference_image.0}'))).to.equal(undefined);
    expect(fault(changed('submit/body/image_prompt', '{negative_prompt}'))).to.equal(undefined);
  });

  it('needs the place of the codes that its submission names', () => {
    const coded: JsonObject = { ...studioMapping(), errors: {} };
    expect(fault(coded)).to.equal('/errors/code: A pointer is needed where codes are listed.');
    const { seen_before: _, refused: _refused, ...submit } = coded['submit'] as JsonObject;
    expect(fault({ ...coded, submit })).to.equal(undefined);
    const inSuccess = { ...coded, submit: { ...submit, error_in_success: true } };
    expect(fault({ ...inSuccess, errors: { code: '/code' } })).to.match(/^\/submit\/error_in_success: The codes/);
  });

  it('may leave failed states out where a member says that a task has failed', () => {
    const settings = changed('poll/failed_if', '/job/error');
    delete ((settings['poll'] as JsonObject)['states'] as JsonObject)['failed'];
    expect(fault(settings)).to.equal(undefined);
  });

  it('needs an id_pattern of its own where a path keeps the slashes of ids', () => {
    expect(fault(changed('poll/path', '/{+id}'))).to.equal(undefined);
    const without = changed('poll/path', '/{+id}');
    delete (without['submit'] as JsonObject)['id_pattern'];
    expect(fault(without)).to.equal(
      '/submit/id_pattern: It must be given where a path has {+id}, and say where the slashes are.',
    );
  });

  it('may take a parameter in a condition alone', () => {
    const settings = changed('submit/body/frame', { $if: '{parameters.flag}', a: 1 });
    (settings['parameters'] as JsonObject)['flag'] = { type: 'boolean' };
    expect(fault(settings)).to.equal(undefined);
  });

  it('cannot find tasks by their token where answers have the addresses', () => {
    const settings = { ...mapping('fal'), recover: studioMapping()['recover'] ?? {} };
    expect(fault(changedIn(settings))).to.match(/^\/recover: poll and cancel need paths/);
  });

  it('promises what it says, and little where it cannot be used', async () => {
    const provider = httpJsonAt('http://127.0.0.1:1');
    expect(provider.capabilities({})).to.deep.equal({
      answersWithOutputs: false,
      isAskedBy: 'nothing',
      takesTokenOnce: false,
      settleMs: 60_000,
      cancels: 'nothing',
      isPaid: true,
    });
    const own = { ...changed('cancel', undefined), is_paid: false, settle_seconds: 5 };
    expect(provider.capabilities(own)).to.include({ cancels: 'nothing', isPaid: false, settleMs: 5_000 });
    await provider.close();
  });
});

describe('the driver for HTTP APIs', () => {
  it('says of a try of the connection what is wrong, each in one sentence, and makes nothing', async () => {
    const fake = await StudioFake.open();
    const { base, url } = fake;
    const refused = `${base}/about refuses the key; check api_key and auth.`;
    const models = [studioMapping(), studioMapping()];
    const providerAt = (at: string, options: JsonObject) =>
      httpJsonAt(at, { auth: AUTH.studio, api_key: fake.key, ...options });
    await expectChecked(fake, providerAt, [
      [base, {}, models, []],
      [base, { api_key: 'wrong' }, models, [refused]],
      [base, { auth: 'bearer' }, models, [refused]],
      [url, {}, models, [`${url}/about has status 404; check base_url and check_path.`]],
    ]);
    await fake.close();
  });

  it('tries without a check_path whether a server answers, and says that nothing else is tried', async () => {
    const fake = await StudioFake.open();
    const settings = [changed('check_path', undefined)];
    const right = httpJsonAt(fake.base, { auth: AUTH.studio, api_key: fake.key });
    for (const given of [settings, []])
      expect(await right.check(given, WANTED)).to.deep.equal({
        about: 'a server answers; without check_path, neither its key nor its paths are tried',
        faults: [],
      });
    expect(fake.server.requests.map(({ method, of }) => [method, of])).to.deep.equal([
      ['GET', []],
      ['GET', []],
    ]);
    expect(JSON.stringify(fake.server.requests.map(({ headers }) => headers))).to.not.include(fake.key);
    await fake.close();
    expect((await right.check(settings, WANTED)).faults).to.have.length(1);
    expect((await right.check(settings, WANTED)).faults[0]).to.match(/^Nothing answers at /);
    await right.close();
  });

  it('refuses a host that cannot be one, with the key of its option', () => {
    for (const option of ['answer_hosts', 'output_hosts'])
      expect(() => httpJsonAt('http://127.0.0.1:1', { [option]: ['https://a.example'] })).to.throw(
        new RegExp(`^providers\\.http-json\\.${option}: https://a\\.example is no host`),
      );
  });
});

/** The settings with the token in the submission. */
function changedIn(settings: JsonObject): JsonObject {
  const submit = settings['submit'] as JsonObject;
  return { ...settings, submit: { ...submit, idempotency_header: 'Idempotency-Key' } };
}

/*
 * Goal: the key goes to the configured server, and to other hosts only where the operator names them in full.
 * Method: real TLS servers under two names, one of which answers with addresses at the other; each records the requests
 * it receives.
 */

const SETTINGS: JsonObject = {
  headers: { 'x-team': 'darkroom' },
  submit: { path: '/jobs', body: { prompt: '{prompt}' }, id: '/id' },
  poll: {
    address: '/status_url',
    state: '/status',
    states: { running: ['busy'], succeeded: ['done'], failed: ['error'] },
  },
  output: { media_type: 'video/mp4', at: '/file' },
};
type Lists = Parameters<typeof hostLists>[0];
const LISTS: Lists = { answer_hosts: [], output_hosts: [], send_credentials: [] };
/** Not a sentence, which would be taken for a message in the place of a file. */
const VIDEO = '\u0000bytes';
const KEY = { 'x-api-key': 'a-key' };

describe('the key of an HTTP API', () => {
  let tls: TlsServers;
  let first: TlsServer;
  let second: TlsServer;
  before(async function () {
    tls = await orSkip(this, TlsServers.make());
  });
  beforeEach(async () => {
    const answers: Answering = (path, response) => {
      const there = `https://two.example:${second.port}`;
      if (path.startsWith('/file')) response.writeHead(200, { 'content-type': 'video/mp4' }).end(VIDEO);
      else {
        const here = `https://one.example:${first.port}/file`;
        const body = {
          id: 'a',
          status: 'done',
          status_url: `${there}/status`,
          file: path === '/own' ? here : `${there}/file`,
        };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      }
    };
    [first, second] = [await tls.serving(answers), await tls.serving(answers)];
  });
  afterEach(() => tls.close());
  after(() => tls?.remove());

  function opened(lists: Partial<Lists>): HttpJsonProvider {
    const base = new URL(`https://one.example:${first.port}`);
    const connection = new Connection({ base, client: tls.client(), credentials: KEY });
    const about = { instance: 'own', log: SILENT, memory: new MemoryBudget(MEMORY_BYTES) };
    return providerOn(connection, hostLists({ ...LISTS, ...lists }, 'own'), about);
  }

  /** Submits, polls and fetches the output. */
  async function made(provider: HttpJsonProvider): Promise<void> {
    const reference = await submitted(provider, task({ settings: SETTINGS }));
    expect(await provider.poll(reference, SETTINGS, WANTED)).to.have.property('state', 'succeeded');
    const bytes = await collected(await provider.output(reference, 0, SETTINGS, WANTED));
    expect(Buffer.from(bytes).toString()).to.equal(VIDEO);
  }

  it('stays there where other hosts are only listed for answers and outputs', async () => {
    const hosts = [`two.example:${second.port}`];
    await made(opened({ answer_hosts: hosts, output_hosts: hosts }));
    expect(first.asked.at(-1)?.headers).to.include({ ...KEY, 'x-team': 'darkroom' });
    expect(second.asked.map(({ path }) => path)).to.deep.equal(['/status', '/status', '/file']);
    for (const { headers } of second.asked) expect(headers).to.not.have.any.keys('x-api-key', 'x-team');
  });

  it('goes to a host that the operator names for it, with the calls and for outputs', async () => {
    await made(opened({ send_credentials: [`two.example:${second.port}`] }));
    expect(second.asked.map(({ path }) => path)).to.deep.equal(['/status', '/status', '/file']);
    for (const { headers } of second.asked) expect(headers).to.include(KEY);
    expect(second.asked[0]?.headers).to.include({ 'x-team': 'darkroom' });
  });

  it('goes to no other port and no other host than the named one', async () => {
    const hosts = [`two.example:${second.port}`];
    const elsewhere = [`two.example:${first.port}`, 'two.example', 'elsewhere.example'];
    await made(opened({ answer_hosts: hosts, output_hosts: hosts, send_credentials: elsewhere }));
    expect(second.asked).to.not.have.length(0);
    for (const { headers } of second.asked) expect(headers).to.not.have.property('x-api-key');
  });

  it('goes with outputs at its own server where that one is named', async () => {
    const poll = { path: '/{id}', state: '/status', states: { succeeded: ['done'], failed: ['error'] } };
    const settings = { ...SETTINGS, poll };
    const fetched = async (lists: Partial<Lists>) => {
      await collected(await opened(lists).output('own', 0, settings, WANTED));
      return first.asked.at(-1)!;
    };
    const own = await fetched({ send_credentials: [`one.example:${first.port}`] });
    expect([own.path, own.headers['x-api-key']]).to.deep.equal(['/file', 'a-key']);
    expect((await fetched({})).headers).to.not.have.property('x-api-key');
  });

  it('is not given to all hosts below a name', () => {
    expect(() => httpJsonAt('http://127.0.0.1:1', { send_credentials: ['.example.com'] })).to.throw(
      /^providers\.http-json\.send_credentials: \.example\.com would give the key to hosts that nobody has named; write each host in full\.$/,
    );
    expect(() => httpJsonAt('http://127.0.0.1:1', { send_credentials: ['https://a.example'] })).to.throw(
      /^providers\.http-json\.send_credentials: https:\/\/a\.example is no host/,
    );
  });
});
