/*
 * Goal: an error about an address with a secret path shows its origin alone, whatever went wrong and when. No error shows a
 * query. (Of redirects to another origin: see redirects.test.ts.)
 * Method: servers that fail at each point of an exchange, asked for an address with a token in its path and its query.
 */
import { expect } from 'chai';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import { errorOf, get, localClient, UNABORTED } from './client.js';
import { onceReceived, RawServer, type Connection } from './raw-server.js';

const PATH = '/T0KEN/picture.png?signature=T0KEN';
const LIMITS = { headersTimeoutMs: 100, idleTimeoutMs: 100, connectTimeoutMs: 100 };

const answeringWith = (answer: string) => (connection: Connection) =>
  onceReceived(connection, '\r\n\r\n', () => void connection.socket.end(answer));

/** What the server does, by how the request fails. */
const FAILURES: Readonly<Record<string, (connection: Connection) => void>> = {
  'no answer comes': () => undefined,
  'the answer is no HTTP': answeringWith('no HTTP\r\n\r\n'),
  'the connection is closed': answeringWith(''),
  'the body breaks off': answeringWith('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n1'),
  'the body is too large': answeringWith('HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n1'),
  'the body is no JSON': answeringWith('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{"a"='),
  'the body has too many levels': answeringWith(
    `HTTP/1.1 200 OK\r\ncontent-length: 600\r\n\r\n${'['.repeat(300)}${']'.repeat(300)}`,
  ),
  'it redirects too often': answeringWith(
    'HTTP/1.1 302 Found\r\nlocation: /T0KEN/picture.png\r\ncontent-length: 0\r\n\r\n',
  ),
};

describe('the address in an error', () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterEach(async () => void (await Promise.all(opened.splice(0).map((one) => one.close()))));
  const kept = <T extends { close(): Promise<unknown> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  let client: HttpClient;
  beforeEach(() => {
    client = kept(localClient({ limits: LIMITS }));
  });

  /** The message for an address whose path is a secret, and for the same where it is none. */
  async function messagesAt(origin: string, by = client): Promise<readonly [secret: string, other: string]> {
    const messages = [];
    for (const hasSecretPath of [true, false]) {
      const asked = get(by, origin + PATH, { hasSecretPath, maxRedirects: 1 });
      messages.push((await errorOf(asked.then((answer) => answer.json()))).message);
    }
    return messages as [string, string];
  }

  for (const [name, on] of Object.entries(FAILURES)) {
    it(`has no secret path where ${name}`, async () => {
      const { url } = kept(await RawServer.open(on));
      const origin = new URL(url).origin;
      const [secret, other] = await messagesAt(origin);
      expect(secret)
        .to.match(/^GET http:\/\/127\.0\.0\.1:\d+: /)
        .and.to.not.include('T0KEN');
      expect(other).to.include(`GET ${origin}/T0KEN/picture.png: `).and.to.not.include('signature');
    });
  }

  it('has no secret path where nothing is sent: the call is over, there is no server, or the address is refused', async () => {
    const gone = await RawServer.open(() => undefined);
    const { origin: nowhere } = new URL(gone.url);
    await gone.close();
    for (const origin of [nowhere, 'https://10.0.0.1', 'https://files.internal']) {
      const [secret, other] = await messagesAt(origin);
      expect(secret).to.include(`GET ${origin}: `).and.to.not.include('T0KEN');
      expect(other).to.include(`GET ${origin}/T0KEN/picture.png: `);
    }
    const over = get(client, `https://one.example${PATH}`, { hasSecretPath: true, signal: AbortSignal.abort() });
    expect(await errorOf(over)).to.have.property('message', 'GET https://one.example: The call was aborted.');
    const isOver = kept(localClient());
    await isOver.close();
    const request = {
      method: 'GET',
      url: `https://one.example${PATH}`,
      hasSecretPath: true,
      signal: UNABORTED,
    } as const;
    expect((await errorOf(isOver.request(request))).message).to.not.include('T0KEN');
  });
});
