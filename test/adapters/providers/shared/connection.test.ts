import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { connectionOptions } from '../../../../adapters/providers/shared/connection-options.js';
import { type Connection, openConnection } from '../../../../adapters/providers/shared/connection.js';
import { optionsFault } from '../../../../apps/config/option-schema.js';
import { createLogger, logTo } from '../../../../apps/logging/logging.js';
import { BUILT_IN_DRIVERS } from '../../../../apps/wiring/built-in-drivers.js';
import type { Log } from '../../../../core/log.js';
import type { Provider, Submission } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { closedAfterEach, folderForSuite, listening } from '../../../fixtures/opened.js';
import { FalFake } from '../../../providers/fakes/fal-fake.js';
import { OpenAiFake } from '../../../providers/fakes/openai-fake.js';
import { ReplicateFake } from '../../../providers/fakes/replicate-fake.js';
import { UNABORTED } from '../../http/client.js';
import { ConnectProxy } from '../../http/proxy/connect-proxy.js';
import { falAt, SETTINGS as FAL, task as falTask } from '../fal/opened-fal.js';
import { AUTH, httpJsonAt, mapping, task as httpJsonTask } from '../http-json/opened-http-json.js';
import { openAiAt, task as openAiTask } from '../openai/opened-openai.js';
import { replicateAt, SETTINGS as REPLICATE, task as replicateTask } from '../replicate/opened-replicate.js';
import { closeAnswers, failureOf, outputsOf } from '../vendor-subject.js';

/*
 * Goal: an instance's options lead to the configured server with the configured key, and a wrong option is reported in
 * one sentence that repeats no key.
 * Method: the options as the configuration checks them, files in a fresh folder, and a real server.
 */

const TIMES = { connect_timeout_seconds: 10, answer_timeout_seconds: 30, idle_timeout_seconds: 60, max_connections: 4 };

describe('the connection of a provider', () => {
  const folder = folderForSuite('connection');
  const kept = closedAfterEach();

  function open(options: Record<string, string | number>, scheme?: string): Connection {
    const own = scheme === undefined ? {} : { scheme };
    return kept(openConnection({ options: { ...TIMES, ...options }, instance: 'studio', ...own }));
  }
  function written(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  it('has options that a driver may have', () => {
    for (const properties of [connectionOptions(), connectionOptions({ baseUrl: 'https://api.example.com/v1' })])
      expect(optionsFault({ type: 'object', properties })).to.equal(undefined);
  });

  for (const { kind, name, options } of BUILT_IN_DRIVERS)
    if (kind === 'provider')
      it(`has options that the driver ${name} may have`, () => {
        expect(optionsFault(options)).to.equal(undefined);
      });

  it('reaches a server of the private network that the operator named, with the key', async () => {
    const { url: base } = kept(await answering((authorization, path) => `${authorization} ${path}`));
    const connection = open({ base_url: `${base}/v1/`, api_key: 'k-1' });
    expect(connection.base).to.equal(`${base}/v1`);
    const answer = await connection.client.request({
      method: 'GET',
      url: connection.urlOf('images', 'a/../b'),
      headers: connection.credentials,
      signal: UNABORTED,
    });
    expect(Buffer.from(await answer.bytes()).toString()).to.equal('Bearer k-1 /v1/images/a%2F..%2Fb');
  });

  it('uses the proxy of the environment only if it is configured to', async () => {
    const { port } = kept(await answering((_, path = '') => path));
    const host = `127.0.0.1:${port}`;
    const proxy = kept(await ConnectProxy.open());
    const environment = { HTTP_PROXY: proxy.url.replace('//', '//user:p-1@') };
    for (const [way, tunnels] of [
      [{ proxy: 'none' }, 0],
      [{ proxy: 'environment' }, 1],
    ] as const) {
      const options = { ...TIMES, base_url: `http://${host}`, ...way };
      const connection = kept(openConnection({ options, instance: 'studio', environment }));
      const request = { method: 'GET', url: connection.urlOf('jobs'), signal: UNABORTED } as const;
      expect(String(await (await connection.client.request(request)).bytes())).to.equal('/jobs');
      expect(proxy.asked).to.have.length(tunnels);
    }
    expect(proxy.asked[0]?.authority).to.equal(host);
    const wrong = { options: { ...TIMES, base_url: 'https://a.example', proxy: 'environment' }, instance: 'studio' };
    expect(() => openConnection({ ...wrong, environment: { HTTPS_PROXY: 'socks5://p-1@host' } }))
      .to.throw(/^providers\.studio\.proxy: HTTPS_PROXY is no address of a proxy; .*\.$/)
      .with.property('message')
      .that.does.not.include('p-1');
  });

  it('reads the key from a file, and puts the scheme of the server before it', () => {
    const file = written('key', 'k-2\n');
    expect(open({ base_url: 'https://api.example.com', api_key_file: file }, 'Key').credentials).to.deep.equal({
      authorization: 'Key k-2',
    });
    expect(open({ base_url: 'https://api.example.com' }).credentials).to.deep.equal({});
  });

  it('encodes a user name and a password for the scheme Basic, and refuses a key that is neither', () => {
    const url = { base_url: 'https://api.example.com' };
    expect(open({ ...url, api_key: 'user:pa:ss' }, 'Basic').credentials).to.deep.equal({
      authorization: 'Basic dXNlcjpwYTpzcw==',
    });
    for (const key of ['word', ':word'])
      expect(() => open({ ...url, api_key: key }, 'Basic'))
        .to.throw(Error)
        .with.property(
          'message',
          'providers.studio: its key must be a user name and a password, with a colon between them.',
        );
  });

  it('builds no address that leads out of its path', () => {
    const connection = open({ base_url: 'https://api.example.com/v1' });
    for (const segment of ['', '.', '..']) expect(() => connection.urlOf('videos', segment)).to.throw(RangeError);
    expect(connection.urlOf('videos', '?x#y')).to.equal('https://api.example.com/v1/videos/%3Fx%23y');
  });

  it('says in one sentence what is wrong with its options, and repeats no key', () => {
    const url = { base_url: 'https://api.example.com' };
    const key = written('two', 'k-3 k-4\n');
    const missing = join(folder, 'none');
    const wrong: readonly (readonly [Record<string, string>, string])[] = [
      [{}, 'providers.studio.base_url must be set.'],
      [
        { ...url, api_key: 'k-5', api_key_file: key },
        'providers.studio.api_key_file and api_key are both set; only one may be.',
      ],
      [
        { ...url, api_key_file: key },
        'providers.studio.api_key_file must name a file with one key of printable characters.',
      ],
      [{ ...url, api_key_file: missing }, 'providers.studio.api_key_file names a file that cannot be read (ENOENT).'],
      [{ ...url, ca_file: missing }, 'providers.studio.ca_file names a file that cannot be read (ENOENT).'],
      [{ ...url, ca_file: key }, 'providers.studio.ca_file must name a file of certificates in PEM.'],
    ];
    for (const [options, sentence] of wrong) {
      expect(() => open(options))
        .to.throw(Error)
        .with.property('message', sentence);
    }
  });
});

function answering(answer: (authorization: string | undefined, path: string | undefined) => string) {
  return listening(
    createServer((request, response) => void response.end(answer(request.headers.authorization, request.url))),
  );
}

/*
 * Goal: an address at another host that an answer gives, of a result or of a task, may give access to whoever has it. Neither its path
 * nor its query is in any error or line of the log.
 * Method: each provider that takes such addresses is given one that cannot be called, with a token in its path and its
 * query; its error is logged as core logs it. Without the rule, each line would contain the path.
 */

const TOKEN = 'T0KEN';
/** Names of a local network are refused before anything is sent. */
const HOST = 'files.internal';
const secret = (name: string) => `https://${HOST}/${TOKEN}/${name}?X-Signature=${TOKEN}`;

describe('addresses of other hosts in answers', () => {
  const kept = closedAfterEach();
  let lines: string[];
  let log: Log;
  beforeEach(() => {
    lines = [];
    log = logTo(createLogger({ level: 'debug', format: 'json' }, { write: (line) => void lines.push(line) }));
  });
  afterEach(closeAnswers);

  /** Logs the error that the work throws, and checks that no log line contains the token. */
  async function keepsSecret(work: Promise<unknown>, shown = `GET https://${HOST}: `): Promise<void> {
    const error = await failureOf(work);
    expect(error).to.be.instanceOf(Error);
    log.warn('outputs not collected', { error });
    expect(lines.join('')).to.include(shown).and.to.not.include(TOKEN);
  }

  async function outputFails(provider: Provider, submission: Submission): Promise<void> {
    const reference = await submitted(provider, submission);
    const report = (await reportsUntilOver(provider, reference, submission)).at(-1);
    expect(report).to.have.property('state', 'succeeded');
    await keepsSecret(provider.output(reference, 0, submission.settings, WANTED));
  }

  it('stay secret as results of fal', async () => {
    const fake = kept(await FalFake.open());
    fake.ending = { ends: 'result', result: { images: [{ url: secret('0.png') }] } };
    await outputFails(kept(falAt(fake.base, { output_hosts: [HOST] }, log)), falTask({ settings: FAL }));
  });

  it('stay secret as results of Replicate', async () => {
    const fake = kept(await ReplicateFake.open());
    fake.ending = { ends: 'succeeded', output: [secret('0.png')] };
    const provider = kept(replicateAt(fake.base, { output_hosts: [HOST] }, log));
    await outputFails(provider, replicateTask({ settings: REPLICATE }));
  });

  it('stay secret as results of the API of OpenAI', async () => {
    const fake = kept(await OpenAiFake.open('sglang'));
    fake.images.address = secret('0.png');
    const settings = { preset: 'sglang', response_format: 'url', result_hosts: [HOST] };
    const provider = kept(openAiAt(fake.base, {}, log));
    const [output] = await outputsOf(provider.submit(openAiTask({ settings, prompt: 'by address' }), WANTED));
    await keepsSecret(collected(output!.bytes));
  });

  it('stay secret as results of another HTTP API', async () => {
    const fake = kept(await FalFake.open('k'));
    fake.ending = { ends: 'result', result: { images: [{ url: secret('0.png') }] } };
    const options = { auth: AUTH.fal, api_key: 'k', output_hosts: [HOST] };
    await outputFails(kept(httpJsonAt(fake.base, options, log)), httpJsonTask({ settings: mapping('fal') }));
  });

  it('stay secret where a task of another HTTP API is followed and stopped', async () => {
    const fake = kept(await FalFake.open('k'));
    fake.addressOf = secret;
    const settings = mapping('fal');
    const options = { auth: AUTH.fal, api_key: 'k', answer_hosts: [HOST] };
    const provider = kept(httpJsonAt(fake.base, options, log));
    const reference = await submitted(provider, httpJsonTask({ settings }));
    expect(reference).to.include(TOKEN);
    await keepsSecret(provider.poll(reference, settings, WANTED));
    await keepsSecret(provider.cancel(reference, settings, WANTED), `PUT https://${HOST}: `);
  });
});
