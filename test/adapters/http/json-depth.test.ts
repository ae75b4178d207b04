/*
 * Goal: JSON with so many levels that a recursive walk could not end is never parsed, and is treated like an answer
 * without JSON.
 * Method: real servers answer with valid JSON of a million levels, of the most levels and of one more. Old code parsed them all.
 */
import { expect } from 'chai';
import { MAX_JSON_DEPTH } from '../../../adapters/http/json-body.js';
import { jsonWithFiles } from '../../../adapters/http/json/json-with-files.js';
import { submit } from '../../../adapters/http/submission-outcome.js';
import { errorOf, get, localClient, UNABORTED } from './client.js';
import { BodyServers, onceReceived, RawServer } from './raw-server.js';

const MILLION = 1_000_000;
const LIMITS = { maxBodyBytes: 20 * 1024 * 1024 };
const JSON_TYPE = { 'content-type': 'application/json' };

const lists = (levels: number, within = '') => '['.repeat(levels) + within + ']'.repeat(levels);
const objects = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);

describe('the levels of JSON', () => {
  const servers = new BodyServers();
  afterEach(() => servers.close());

  async function answered(body: string, headers: Record<string, string> = JSON_TYPE) {
    const { url } = await servers.serving(Buffer.from(body), headers);
    return get(servers.keep(localClient({ limits: LIMITS })), url);
  }

  for (const [name, body] of [
    ['a million lists', lists(MILLION)],
    ['a million objects', objects(MILLION)],
    ['a million lists that never end', '['.repeat(MILLION)],
    ['one list too many', lists(MAX_JSON_DEPTH + 1)],
    ['one list too many behind a string of quotes', `[${String.raw`"\\\"[\\",`}${lists(MAX_JSON_DEPTH)}]`],
  ] as const) {
    it(`are refused: ${name}`, async () => {
      const tooDeep = { kind: 'bad-answer', requestSent: true };
      const error = await errorOf((await answered(body)).json());
      expect(error).to.include(tooDeep);
      expect(error.message).to.match(/The JSON of the answer with status 200 has more than 200 levels\.$/u);
      const options = { at: ['/none'], maxCount: 1, maxFileBytes: 1, maxJsonBytes: LIMITS.maxBodyBytes };
      const read = jsonWithFiles(await answered(body), options, async () => undefined);
      expect(await errorOf(read)).to.include(tooDeep);
    });
  }

  it('are accepted up to the limit, and may follow each other without end', async () => {
    for (const body of [lists(MAX_JSON_DEPTH), objects(MAX_JSON_DEPTH), `[${'[[]],'.repeat(100_000)}{}]`])
      expect(await (await answered(body)).json()).to.deep.equal(JSON.parse(body));
  });

  it('do not count brackets in strings and in keys, whatever is escaped there', async () => {
    const brackets = '[{'.repeat(MILLION);
    for (const value of [brackets, `"${brackets}`, `\\${brackets}\\`, `\\"${brackets}\\\\"`, `é${brackets}`]) {
      const body = JSON.stringify({ [value]: [value, { value }] });
      expect(await (await answered(body)).json()).to.deep.equal(JSON.parse(body));
    }
  });

  it('leave a submission of unknown outcome in success and in refusals, as JSON that is broken does', async () => {
    for (const status of ['200 OK', '400 Bad Request', '429 Too Many Requests']) {
      for (const type of ['content-type: application/json\r\n', '']) {
        const body = lists(MAX_JSON_DEPTH + 1);
        const text = `HTTP/1.1 ${status}\r\n${type}content-length: ${body.length}\r\n\r\n${body}`;
        const server = servers.keep(
          await RawServer.open((connection) =>
            onceReceived(connection, 'sent', () => void connection.socket.write(text)),
          ),
        );
        const client = servers.keep(localClient());
        const request = { method: 'POST', url: server.url, body: 'sent', signal: UNABORTED } as const;
        const outcome = submit(client, request).then(async (came) => {
          if (came.outcome === 'answered') await came.answer.json();
          return came;
        });
        const kind = status === '200 OK' ? 'bad-answer' : 'unknown-outcome';
        expect(await errorOf(outcome), `${status} ${type}`).to.include({ kind, requestSent: true });
      }
    }
  });
});
