/*
 * Goal: the key goes to the configured server, and to other hosts only where the operator names them in full.
 * Method: real TLS servers under two names, one of which answers with addresses at the other; each keeps what it was asked.
 */
import { expect } from 'chai';
import {
  hostLists,
  type HttpJsonProvider,
  providerOn,
} from '../../../../adapters/providers/http-json/http-json-provider.js';
import { Connection } from '../../../../adapters/providers/shared/connection.js';
import type { JsonObject } from '../../../../core/json.js';
import { MemoryBudget } from '../../../../core/memory-budget.js';
import { submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { MEMORY_BYTES } from '../../../fixtures/masked-pictures.js';
import { SILENT } from '../../../fixtures/silent-log.js';
import { orSkip } from '../../../servers/servers.js';
import { type Answering, type TlsServer, TlsServers } from '../../http/tls-servers.js';
import { httpJsonAt, task } from './opened-http-json.js';

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
