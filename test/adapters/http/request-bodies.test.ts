/*
 * Goal: files within a request arrive unchanged, as base64 in JSON or as parts of a form, with the declared length.
 * Method: a real server that reads forms and JSON with the platform's own parsers; properties over names, values and cuts.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { HttpClient } from '../../../adapters/http/http-client.js';
import {
  Base64File,
  type BodyFile,
  formRequest,
  jsonRequest,
  type SizedRequest,
} from '../../../adapters/http/http-request.js';
import { collected, inPieces } from '../../fixtures/byte-streams.js';
import { type Listening, listening } from '../../fixtures/opened.js';
import { errorOf, localClient, post } from './client.js';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function fileOf(
  bytes: Uint8Array,
  { size = bytes.byteLength, pieceBytes = 7, mediaType = 'image/png' } = {},
): BodyFile {
  return { mediaType, byteSize: size, open: async () => inPieces(bytes, pieceBytes) };
}

const bodyOf = async ({ body }: SizedRequest): Promise<Buffer> => Buffer.from(await collected(body.stream));

/** Text of whole characters: half a surrogate pair cannot be sent. */
const text = fc.string({ unit: 'grapheme' });

describe('the body of a request with files', () => {
  let server: Listening;
  let client: HttpClient;
  let url: string;
  let received: Received[];
  before(async () => {
    const answering = createServer((request, response) => {
      const all: Buffer[] = [];
      request.on('data', (piece: Buffer) => all.push(piece));
      request.on('end', () => {
        received.push({ headers: request.headers, body: Buffer.concat(all) });
        response.end('ok');
      });
    });
    server = await listening(answering);
    ({ url } = server);
    client = localClient();
  });
  beforeEach(() => {
    received = [];
  });
  after(() => Promise.all([client.close(), server.close()]));

  const bytes = Buffer.from('a picture, of a kind');

  it('is JSON with the base64 of its files', async () => {
    const request = jsonRequest({
      prompt: 'a "lighthouse"',
      image: new Base64File(fileOf(bytes), 'data-url'),
      masks: [new Base64File(fileOf(bytes), 'base64'), new Base64File(fileOf(Buffer.alloc(0)), 'base64')],
      left: undefined,
    });
    await (await post(client, url, request)).bytes();
    const [{ headers, body }] = received as [Received];
    expect(headers).to.include({ 'content-type': 'application/json', 'content-length': String(body.byteLength) });
    expect(headers).to.not.have.property('transfer-encoding');
    expect(JSON.parse(String(body))).to.deep.equal({
      prompt: 'a "lighthouse"',
      image: `data:image/png;base64,${bytes.toString('base64')}`,
      masks: [bytes.toString('base64'), ''],
    });
  });

  it('is the same JSON for every document, size of file and cut, with the declared length', async () => {
    const cut = fc.integer({ min: 1, max: 9 });
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.array(fc.uint8Array()), cut, async (value, files, pieceBytes) => {
        const encoded = files.map((file) => new Base64File(fileOf(file, { pieceBytes }), 'base64'));
        const request = jsonRequest([value, { encoded }]);
        const body = await bodyOf(request);
        expect(body.byteLength).to.equal(request.body.byteSize);
        expect(JSON.parse(String(body))).to.deep.equal(
          JSON.parse(JSON.stringify([value, { encoded: files.map((file) => Buffer.from(file).toString('base64')) }])),
        );
      }),
    );
  });

  it('is a form with its files', async () => {
    const request = formRequest([
      { name: 'prompt', value: 'a lighthouse\r\n--x' },
      { name: 'image[]', fileName: 'r "1".png', file: fileOf(bytes) },
      { name: 'image[]', fileName: 'é\r\n.png', file: fileOf(Buffer.alloc(0), { mediaType: 'image/svg+xml' }) },
    ]);
    await (await post(client, url, request)).bytes();
    const [{ headers, body }] = received as [Received];
    expect(headers).to.include({ 'content-length': String(body.byteLength) });
    expect(String(body)).to.include('filename="r %221%22.png"\r\nContent-Type: image/png\r\n\r\na picture');
    const form = await new Response(new Uint8Array(body), {
      headers: { 'content-type': String(headers['content-type']) },
    }).formData();
    expect(form.get('prompt')).to.equal('a lighthouse\r\n--x');
    const [first, second] = form.getAll('image[]') as [File, File];
    expect([first.type, Buffer.from(await first.arrayBuffer()).equals(bytes)]).to.deep.equal(['image/png', true]);
    expect([second.type, second.size]).to.deep.equal(['image/svg+xml', 0]);
    expect(second.name).to.match(/^é/);
  });

  it('is a form that others read as it was meant, whatever its names and values', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text, text, fc.uint8Array())), async (fields) => {
        const request = formRequest(
          fields.flatMap(([name, value, file]) => [
            { name: `v${name}`, value },
            { name: `f${name}`, fileName: `n${value}`, file: fileOf(file) },
          ]),
        );
        const body = await bodyOf(request);
        expect(body.byteLength).to.equal(request.body.byteSize);
        const form = await new Response(new Uint8Array(body), { headers: request.headers }).formData();
        const entries = [...form.entries()];
        expect(entries).to.have.length(fields.length * 2);
        for (const [index, [, value, file]] of fields.entries()) {
          expect(entries[index * 2]?.[1]).to.equal(value);
          const sent = entries[index * 2 + 1]?.[1] as File;
          expect(Buffer.from(await sent.arrayBuffer()).equals(file)).to.equal(true);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('breaks off, and never arrives whole, if a file has another size than it says', async () => {
    for (const size of [bytes.byteLength - 1, bytes.byteLength + 1]) {
      const file = fileOf(bytes, { size });
      for (const request of [
        jsonRequest({ image: new Base64File(file, 'base64') }),
        formRequest([{ name: 'image', fileName: 'a.png', file }]),
      ])
        expect(await errorOf(post(client, url, request))).to.include({ kind: 'unknown-outcome', requestSent: true });
    }
    expect(received).to.deep.equal([]);
  });

  it('cannot have a media type that would break its headers', () => {
    const file = fileOf(bytes, { mediaType: 'image/png\r\nx: y' });
    expect(() => formRequest([{ name: 'image', fileName: 'a.png', file }])).to.throw(RangeError);
    expect(() => jsonRequest([new Base64File(file, 'data-url')])).to.throw(RangeError);
  });
});
