import { expect } from 'chai';
import fc from 'fast-check';
import { readdirSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { HttpAnswer } from '../../../../adapters/http/http-answer.js';
import { type EncodedFile, jsonWithFiles, spooledJson } from '../../../../adapters/http/json/json-with-files.js';
import { CUT_MARK, JsonScanner } from '../../../../adapters/http/json/json-scanner.js';
import { collected } from '../../../fixtures/byte-streams.js';
import { closedAfterEach, deferred, folderForSuite, listening } from '../../../fixtures/opened.js';
import { errorOf, get, localClient } from '../client.js';

/*
 * Goal: the files in a JSON answer come in order and at the pace of their reader; an answer that cannot be read ends with one clear
 * error, a closed connection, and nothing on disk.
 * Method: real servers that send valid, compressed, broken and endless answers, and count what they could send.
 */

const OPTIONS = { at: ['/data/*/b64_json'], maxJsonBytes: 1_000, maxCount: 4, maxFileBytes: 1_000 };
const FILES = [Buffer.from('the first'), Buffer.from('second'), Buffer.alloc(0)];

const documentOf = (files: readonly string[]) =>
  JSON.stringify({ data: files.map((b64_json, index) => ({ b64_json, index })), usage: 7 });
const VALID = documentOf(FILES.map((file) => file.toString('base64')));

const bytesOf = async (bytes: AsyncIterable<Uint8Array>): Promise<Buffer> => Buffer.from(await collected(bytes));

describe('an answer in JSON with files', () => {
  const kept = closedAfterEach();
  const folder = folderForSuite('spool');

  async function answerFrom(
    answer: (response: ServerResponse) => void,
    maxBodyBytes = 100_000,
  ): Promise<{ answer: HttpAnswer; closed: Promise<void> }> {
    const closed = deferred();
    const server = createServer((request, response) => {
      request.socket.once('close', () => closed.resolve());
      answer(response);
    });
    const { url } = kept(await listening(server));
    const client = kept(localClient({ limits: { maxBodyBytes } }));
    return { answer: await get(client, url), closed: closed.promise };
  }

  const json =
    (body: string | Buffer, headers: Record<string, string> = {}) =>
    (response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);

  it('is read file by file, and the rest of it at the end', async () => {
    for (const [body, headers] of [
      [VALID, {}],
      [gzipSync(VALID), { 'content-encoding': 'gzip' }],
    ] as const) {
      const { answer } = await answerFrom(json(body, headers));
      const files: [string, Buffer][] = [];
      const rest = await jsonWithFiles(answer, OPTIONS, async ({ pointer, bytes }) => {
        files.push([pointer, await bytesOf(bytes)]);
      });
      expect(files).to.deep.equal(FILES.map((file, index) => [`/data/${index}/b64_json`, file]));
      expect(rest).to.deep.equal(JSON.parse(documentOf(['', '', ''])));
    }
  });

  it('is read without its files, where they are not wanted', async () => {
    const { answer } = await answerFrom(json(documentOf(['not base64 at all', 'QUJD'])));
    const taken: string[] = [];
    const rest = await jsonWithFiles(answer, OPTIONS, async ({ pointer }) => void taken.push(pointer));
    expect(taken).to.have.length(2);
    expect(rest).to.have.property('usage', 7);
  });

  it('is kept without a name on disk, and read in any order', async () => {
    const { answer } = await answerFrom(json(documentOf(['data:image/webp;base64,QUJD', 'REVG'])));
    const spooled = await spooledJson(answer, { ...OPTIONS, folder });
    expect(readdirSync(folder), 'no name is left').to.deep.equal([]);
    expect([...spooled.files.keys()]).to.deep.equal(['/data/0/b64_json', '/data/1/b64_json']);
    const [first, second] = [...spooled.files.values()];
    expect([first?.mediaType, first?.byteSize, second?.mediaType]).to.deep.equal(['image/webp', 3, undefined]);
    for (const [file, text] of [
      [second, 'DEF'],
      [first, 'ABC'],
      [second, 'DEF'],
    ] as const)
      expect(String(await bytesOf(file!.bytes))).to.equal(text);
    expect(spooled.json).to.deep.equal(JSON.parse(documentOf(['', ''])));
    await spooled.close();
    expect(await bytesOf(first!.bytes).catch(() => 'closed')).to.equal('closed');
  });

  it('ends with one error and a closed connection where it cannot be read', async () => {
    const never = (text: string) => (response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).write(text);
    for (const [what, send, kind] of [
      [
        'a page',
        (response: ServerResponse) => void response.writeHead(200, { 'content-type': 'text/html' }).write('<p>'),
        'bad-answer',
      ],
      ['invalid base64', never('{"data":[{"b64_json":"QU*D'), 'bad-answer'],
      ['a file too large', never(`{"data":[{"b64_json":"${'QUJD'.repeat(334)}`), 'too-large'],
      ['too much JSON', never(`{"data":[${'1,'.repeat(1_000)}`), 'too-large'],
      ['too many files', never(documentOf(['', '', '', '', ''])), 'too-large'],
      ['too much of all', never(`{"data":[{"b64_json":"${'x'.repeat(100_001)}`), 'too-large'],
    ] as const) {
      for (const way of ['as it comes', 'spooled']) {
        const { answer, closed } = await answerFrom(send);
        const take = async ({ bytes }: EncodedFile) => void (await bytesOf(bytes));
        const error = await errorOf(
          way === 'spooled' ? spooledJson(answer, { ...OPTIONS, folder }) : jsonWithFiles(answer, OPTIONS, take),
        );
        // A body that is too long is seen while its first file is read, which may be too large as well.
        expect([error.kind, error.requestSent], `${what}, ${way}`).to.deep.equal([kind, true]);
        await closed;
        expect(readdirSync(folder)).to.deep.equal([]);
      }
    }
  });

  it('is of unknown outcome where the connection breaks within a file', async () => {
    const { answer } = await answerFrom((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"data":[{"b64_json":"QUJD', () => response.destroy());
    });
    const error = await errorOf(spooledJson(answer, { ...OPTIONS, folder }));
    expect([error.kind, error.requestSent]).to.deep.equal(['unknown-outcome', true]);
  });

  it('closes the connection when the reader of a file fails', async () => {
    const { answer, closed } = await answerFrom((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"data":[{"b64_json":"QUJD');
    });
    const failure = new Error('The disk is full.');
    const reading = jsonWithFiles(answer, OPTIONS, async ({ bytes }) => {
      for await (const _ of bytes) throw failure;
    });
    expect(await reading.catch((error: unknown) => error)).to.equal(failure);
    await closed;
  });

  it('comes no faster than its files are read', async () => {
    let sentBytes = 0;
    const { answer } = await answerFrom((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"data":[{"b64_json":"');
      const piece = Buffer.alloc(64 * 1024, 'QUJD');
      const more = () => {
        do sentBytes += piece.byteLength;
        while (response.write(piece) && !response.destroyed);
      };
      response.on('drain', more);
      more();
    }, 2 ** 40);
    const { answer: small } = await answerFrom(json('{}'));
    await small.bytes();
    const done = new Error('Enough was read.');
    const reading = jsonWithFiles(answer, { ...OPTIONS, maxFileBytes: 2 ** 40 }, async ({ bytes }) => {
      for await (const _ of bytes) {
        // While the reader waits, what the server could send comes to rest at what the buffers of both sides hold.
        let before = -1;
        while (before !== sentBytes) {
          before = sentBytes;
          for (let count = 0; count < 20; count += 1) {
            const { answer: asked } = await answerFrom(json('{}'));
            await asked.bytes();
          }
        }
        throw done;
      }
    });
    expect(await reading.catch((error: unknown) => error)).to.equal(done);
    expect(sentBytes).to.be.below(32 * 1024 * 1024);
  });
});

/*
 * Goal: the short members of a JSON document are read unchanged, however its bytes are split, and long ones take no
 * memory.
 * Method: properties against the platform's own parser, and documents that repeat the sent data.
 */

const tooLong = () => new Error('too long');

function read(text: string | Buffer, sizes: readonly number[] = [7], maxBytes = 100_000, skips = true): unknown {
  const bytes = Buffer.from(text);
  const short = new JsonScanner(maxBytes, tooLong, { skipsRepeated: skips });
  for (let at = 0, index = 0; at < bytes.byteLength; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    short.read(bytes.subarray(at, at + size));
    at += size;
  }
  const json = short.end();
  return 'value' in json ? json.value : json.fault;
}

const sizesOf = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 });

describe('the short members of a JSON document', () => {
  it('are all of a document that has no long ones, however it is cut', () => {
    fc.assert(
      fc.property(fc.json(), sizesOf, (text, sizes) => {
        expect(read(text, sizes, 1_000_000, false)).to.deep.equal(JSON.parse(text));
      }),
    );
  });

  it('are kept with long strings of any characters beside them, which are cut to their beginning', () => {
    const unit = fc.constantFrom('a', '"', '\\', '\n', 'é', '語', '😀', '\u0001');
    fc.assert(
      fc.property(fc.array(unit, { minLength: 17_000, maxLength: 18_000 }), sizesOf, (chars, sizes) => {
        const long = chars.join('');
        const value = read(JSON.stringify({ before: 1, long, list: [long, { code: 'x' }] }), [...sizes, 4_096]);
        const { before, long: cut, list } = value as { before: number; long: string; list: [string, object] };
        expect([before, list[1]]).to.deep.equal([1, { code: 'x' }]);
        for (const head of [cut, list[0]]) {
          expect(head.endsWith(CUT_MARK)).to.equal(true);
          expect(head.length).to.be.within(300, 2_100);
          expect(long.startsWith(head.slice(0, -1).replace(/[\ud800-\udbff]$/, ''))).to.equal(true);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('are found behind a long string that ends in escapes', () => {
    for (const end of ['\\\\', '\\"', '\\u0022', '\\u005c', '\\\\\\"'])
      for (const size of [1, 2, 5, 40_000])
        expect(read(`{"a":"${'x'.repeat(20_000)}${end}","code":"found"}`, [size]), end).to.have.property(
          'code',
          'found',
        );
  });

  it('have keys as they are written: one with an escape is not the name of a repeated member', () => {
    expect(read(String.raw`{"in\u0070ut":[1],"request":[2]}`)).to.deep.equal({ input: [1], request: null });
    expect(read(String.raw`{"in\xut":[1]}`)).to.equal('not-json');
  });

  it('leave out the lists and objects that repeat what was sent, and keep short texts of these names', () => {
    const input = { image: 'x'.repeat(1_000), nested: [{ 'a"]}': '\\"]}' }], numbers: Array(50_000).fill(1.5) };
    const text = JSON.stringify({ detail: [{ input, ctx: [[input]], type: 'missing' }], input: 'word', request: null });
    expect(read(text, [100], 4_096)).to.deep.equal({
      detail: [{ input: null, ctx: null, type: 'missing' }],
      input: 'word',
      request: null,
    });
    expect(read(JSON.stringify({ input: { code: 1 } }), [3], 4_096, false)).to.deep.equal({ input: { code: 1 } });
  });

  it('are refused where they are more than the bound', () => {
    expect(() => read(JSON.stringify(Array(1_000).fill('word')), [100], 4_096)).to.throw('too long');
    expect(() => read('"1234567"', [2], 8)).to.throw('too long');
    expect(read('"123456"', [2], 8)).to.equal('123456');
  });

  it('are none of what is not JSON, or has too many levels', () => {
    for (const text of ['', '{', '{"a":"', `{"a":"${'x'.repeat(20_000)}`, '{"input":[', 'x'])
      expect(read(text), text.slice(0, 20)).to.equal('not-json');
    expect(read('['.repeat(300) + ']'.repeat(300))).to.equal('too-deep');
  });
});
