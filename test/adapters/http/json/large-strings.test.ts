import { expect } from 'chai';
import fc from 'fast-check';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { HttpError } from '../../../../adapters/http/http-error.js';
import { decodedBase64, encodedText } from '../../../../adapters/http/json/base64.js';
import { PointerPatterns, type ReadFailure } from '../../../../adapters/http/json/json-scanner.js';
import { largeStrings, type LargeStringsOptions } from '../../../../adapters/http/json/json-with-files.js';
import { closedAfterEach, listening } from '../../../fixtures/opened.js';
import { tellsResidentMemory } from '../../../fixtures/resident-memory.js';
import type { ReadFiles } from './read-files.js';

/*
 * Goal: however a JSON document is cut into pieces, its large strings come whole and in order, and the rest is what JSON.parse gives;
 * invalid JSON is refused, and nothing grows beyond its bounds.
 * Method: properties against JSON.parse over random documents and cuts, and tables of invalid documents.
 */

const fail: ReadFailure = (kind, what) => new HttpError(kind, what, { requestSent: true });

type Read = { readonly strings: readonly (readonly [pointer: string, text: string])[]; readonly rest: unknown };

async function* piecesOf(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let [at, index] = [0, 0];
  while (at < bytes.byteLength) {
    const size = sizes[index++ % sizes.length] ?? 1;
    // Each piece is a copy that is overwritten afterwards, as if its memory was used again.
    const piece = bytes.slice(at, at + size);
    yield piece;
    piece.fill(0x2a);
    at += size;
  }
}

async function read(
  document: string | Uint8Array,
  options: Partial<LargeStringsOptions> = {},
  sizes: readonly number[] = [64],
): Promise<Read> {
  const bytes = typeof document === 'string' ? Buffer.from(document) : document;
  const strings: [string, string][] = [];
  const reading = largeStrings(
    piecesOf(bytes, sizes),
    { at: ['/data/*/b64_json'], maxJsonBytes: 100_000, maxCount: 100, ...options },
    fail,
  );
  for (;;) {
    const { done, value } = await reading.next();
    if (done === true) return { strings, rest: value };
    const texts: Buffer[] = [];
    for await (const text of value.text) texts.push(Buffer.from(text));
    strings.push([value.pointer, Buffer.concat(texts).toString('latin1')]);
  }
}

async function refusalOf(work: Promise<unknown>): Promise<HttpError> {
  const error = await work.then(
    () => new Error('It was read.'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof HttpError) return error;
  throw error;
}

const sizesOf = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
const ascii = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) });
const spaced = (json: string, space: string) => JSON.stringify(JSON.parse(json), undefined, space);

describe('the large strings of a JSON document', () => {
  it('come whole and in order, and the rest is as JSON.parse gives it', async () => {
    const entry = fc.record({ b64_json: ascii, other: fc.jsonValue() }, { requiredKeys: [] });
    const document = fc.record({ data: fc.array(entry, { maxLength: 5 }), extra: fc.jsonValue() });
    await fc.assert(
      fc.asyncProperty(document, sizesOf, fc.constantFrom('', ' ', '\n\t'), async (value, sizes, space) => {
        const { strings, rest } = await read(spaced(JSON.stringify(value), space), {}, sizes);
        const expected = value.data.flatMap(({ b64_json: text }, index) =>
          text === undefined ? [] : [[`/data/${index}/b64_json`, text]],
        );
        expect(strings).to.deep.equal(expected);
        const emptied = value.data.map((one) => (one.b64_json === undefined ? one : { ...one, b64_json: '' }));
        expect(rest).to.deep.equal(JSON.parse(JSON.stringify({ ...value, data: emptied })));
      }),
    );
  });

  it('are found at every place that a pointer can name', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string(), { maxLength: 4 }),
        fc.nat({ max: 3 }),
        sizesOf,
        async (keys, before, sizes) => {
          const value = keys.reduceRight<unknown>(
            (inner, key) => ({ [key]: inner, [`${key}+`]: 'not this' }),
            [...Array.from({ length: before }, () => ['x', { y: 'z' }]), 'this'],
          );
          const pointer = [...keys, before]
            .map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`)
            .join('');
          const { strings } = await read(JSON.stringify(value), { at: [pointer] }, sizes);
          expect(strings).to.deep.equal([[pointer, 'this']]);
        },
      ),
    );
  });

  it('are nothing but strings: another value at their place stays in the rest', async () => {
    for (const value of [null, 1, true, ['QUJD'], { b64_json: 'QUJD' }])
      expect(await read(JSON.stringify({ data: [{ b64_json: value }] }))).to.deep.equal({
        strings: [],
        rest: { data: [{ b64_json: value }] },
      });
    expect(await read('"QUJD"', { at: [''] })).to.deep.equal({ strings: [['', 'QUJD']], rest: '' });
    expect(await read(' [ "a" , "b" ] ', { at: ['/*'] })).to.deep.equal({
      strings: [
        ['/0', 'a'],
        ['/1', 'b'],
      ],
      rest: ['', ''],
    });
  });

  it('come unescaped, in whatever way their characters were escaped', async () => {
    const escaped = fc.array(
      fc.tuple(fc.integer({ min: 0x20, max: 0x7e }), fc.boolean()).map(([code, isEscaped]) => {
        const char = String.fromCharCode(code);
        if (isEscaped) return [char, `\\u${code.toString(16).padStart(4, '0')}`] as const;
        return [char, '"\\/'.includes(char) ? `\\${char}` : char] as const;
      }),
    );
    await fc.assert(
      fc.asyncProperty(escaped, sizesOf, async (chars, sizes) => {
        const { strings } = await read(`["${chars.map(([, json]) => json).join('')}"]`, { at: ['/0'] }, sizes);
        expect(strings).to.deep.equal([['/0', chars.map(([char]) => char).join('')]]);
      }),
    );
    for (const blank of ['\\n', '\\r', '\\t', '\\u000a'])
      expect((await read(`["a${blank}b"]`, { at: ['/0'] })).strings[0]?.[1], blank).to.equal('a b');
    for (const other of ['\\u00e9', '\\ud83d', '\\x'])
      expect((await read(`["a${other}b"]`, { at: ['/0'] })).strings[0]?.[1], other).to.match(/^a\0.*b$/);
  });

  it('may be left: the next one is found, and one that was left is not read later', async () => {
    const document = Buffer.from(
      JSON.stringify({ data: ['a', 'b', 'c'].map((char) => ({ b64_json: char.repeat(500) })) }),
    );
    const reading = largeStrings(
      piecesOf(document, [64]),
      { at: ['/data/*/b64_json'], maxJsonBytes: 1_000, maxCount: 3 },
      fail,
    );
    const pointers: string[] = [];
    let left: AsyncIterable<Uint8Array> | undefined;
    for (;;) {
      const { done, value } = await reading.next();
      if (done === true) break;
      pointers.push(value.pointer);
      if (pointers.length === 1) for await (const _ of value.text) break;
      left ??= value.text;
    }
    expect(pointers).to.deep.equal(['/data/0/b64_json', '/data/1/b64_json', '/data/2/b64_json']);
    const late = (async () => {
      for await (const _ of left ?? []) throw new Error('It was read.');
    })();
    expect(String(await late.catch((error: unknown) => error))).to.include('before the next one');
  });

  it('are not read ahead, and the body is left when their reader leaves', async () => {
    let [given, hasLeft] = [0, false];
    async function* body() {
      try {
        yield Buffer.from('["');
        for (;;) {
          given += 1;
          yield Buffer.from('QUJD');
        }
      } finally {
        hasLeft = true;
      }
    }
    const reading = largeStrings(body(), { at: ['/0'], maxJsonBytes: 100, maxCount: 1 }, fail);
    const { value } = await reading.next();
    expect(given).to.equal(0);
    const text = (value as { text: AsyncIterable<Uint8Array> }).text[Symbol.asyncIterator]();
    await text.next();
    await text.next();
    expect(given).to.equal(2);
    await reading.return(undefined);
    expect(hasLeft).to.equal(true);
  });

  it('are refused in a body that is not JSON', async () => {
    const options = { at: ['/*', '/data/*/b64_json'] };
    for (const document of [
      '',
      '{"data":[{"b64_json":"QUJD"}]',
      '{"data":[{"b64_json":"QUJD',
      '{"data":[{"b64_json":"QUJD\\',
      '{"data":[{"b64_json":"QUJD"]}}',
      '{"data":[{"b64_json":"QUJD"}]}}',
      '["a""b"]',
      '["a"1]',
      '[nul"a"]',
      '{"a" "b"}',
      '{"a":"b" "c":"d"}',
      '{"\\x":1}',
      '<html>',
      ']',
      '\u{feff}\u{feff}[]',
    ]) {
      const error = await refusalOf(read(document, options, [3]));
      expect([error.kind, error.requestSent], document).to.deep.equal(['bad-answer', true]);
      expect(() => JSON.parse(document) as unknown).to.throw();
    }
    const broken = Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect((await refusalOf(read(broken))).kind).to.equal('bad-answer');
  });

  it('are refused if the same place comes twice, so that no one can be taken for the other', async () => {
    const error = await refusalOf(read('{"data":[{"b64_json":"QUJD","b64_json":"REVG"}]}'));
    expect(error.kind).to.equal('bad-answer');
  });

  it('are bounded in number, and the rest in size and depth', async () => {
    const two = '{"data":[{"b64_json":"QUJD"},{"b64_json":"REVG"}]}';
    expect((await read(two, { maxCount: 2 })).strings).to.have.length(2);
    expect((await refusalOf(read(two, { maxCount: 1 }))).kind).to.equal('too-large');
    const rest = two.length - 8;
    expect((await read(two, { maxJsonBytes: rest })).strings).to.have.length(2);
    for (const sizes of [[1], [64]])
      expect((await refusalOf(read(two, { maxJsonBytes: rest - 1 }, sizes))).kind).to.equal('too-large');
    for (const long of [`{"${'k'.repeat(200)}":1}`, `["${'s'.repeat(200)}"]`, `[${'1'.repeat(200)}]`, ' '.repeat(200)])
      expect((await refusalOf(read(long, { maxJsonBytes: 100 }))).kind).to.equal('too-large');
    expect((await read(`${'['.repeat(200)}${']'.repeat(200)}`)).strings).to.deep.equal([]);
    expect((await refusalOf(read(`${'['.repeat(201)}${']'.repeat(201)}`))).kind).to.equal('bad-answer');
  });

  it('need places that can be read', () => {
    for (const pattern of ['data', '/a~', '/a~2', '*'])
      expect(() => new PointerPatterns([pattern])).to.throw(RangeError);
    expect(new PointerPatterns(['/a~1b/~0*', '/*']).matches(['a/b', '~*'])).to.equal(true);
    expect(new PointerPatterns(['/*']).matches(['a', 'b'])).to.equal(false);
  });
});

/*
 * Goal: an answer with files of hundreds of megabytes is read in memory that does not grow with it.
 * Method: a real server sends 200 MB of JSON with two files to a separate process, which reports its memory use and the
 * data it read.
 */

const PROGRAM = fileURLToPath(new URL('read-files.js', import.meta.url));
const MIB = 1024 * 1024;
/** Above what the process has before it reads. */
const MAX_ADDED_BYTES = 64 * MIB;

describe('an answer with large files', () => {
  const files = [randomBytes(48_000), randomBytes(48_000)];
  /** 64,000 characters each time: 200 MB for both files. */
  const TIMES = { small: 1, large: 1_600 } as const;
  const kept = closedAfterEach();
  before(function () {
    if (!tellsResidentMemory) this.skip();
  });

  function* document(times: number): Generator<string> {
    yield '{"created":1,"data":[';
    for (const [index, file] of files.entries()) {
      yield `${index === 0 ? '' : ','}{"b64_json":"`;
      const text = file.toString('base64');
      for (let count = 0; count < times; count += 1) yield text;
      yield `","index":${index}}`;
    }
    yield '],"usage":{"total_tokens":7}}';
  }

  async function serving(): Promise<string> {
    const server = createServer(({ url }, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      Readable.from(document(url === '/large' ? TIMES.large : TIMES.small), { objectMode: false }).pipe(response);
    });
    return kept(await listening(server)).url;
  }

  function digestOf(file: Buffer): string {
    const hash = createHash('sha256');
    for (let count = 0; count < TIMES.large; count += 1) hash.update(file);
    return hash.digest('hex');
  }

  for (const way of ['as it comes', 'spooled']) {
    it(`is read in at most 64 MiB, ${way}`, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, await serving(), way]);
      const { digests, rest, addedBytes } = JSON.parse(stdout) as ReadFiles;
      expect(digests).to.deep.equal(files.map(digestOf));
      expect(rest).to.deep.equal({
        created: 1,
        data: [
          { b64_json: '', index: 0 },
          { b64_json: '', index: 1 },
        ],
        usage: { total_tokens: 7 },
      });
      expect(addedBytes / MIB, 'MiB').to.be.below(MAX_ADDED_BYTES / MIB);
    });
  }
});

/*
 * Goal: base64 and data URLs decode to exactly what was encoded, however they are cut; anything else is refused.
 * Method: properties against the platform's own encoder, and a table of invalid base64.
 */

async function* cut(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let [at, index] = [0, 0];
  while (at < text.length) {
    const size = sizes[index++ % sizes.length] ?? 1;
    yield Buffer.from(text.slice(at, at + size), 'latin1');
    at += size;
  }
}

async function decode(text: string, sizes: readonly number[] = [5], maxBytes = 1_000_000) {
  const { mediaType, text: base64 } = await encodedText(cut(text, sizes), fail);
  const pieces: Uint8Array[] = [];
  for await (const piece of decodedBase64(base64, maxBytes, fail)) pieces.push(piece);
  return { mediaType, bytes: Buffer.concat(pieces) };
}

async function base64Refusal(text: string, sizes?: readonly number[], maxBytes?: number): Promise<string> {
  const error: unknown = await decode(text, sizes, maxBytes).catch((thrown: unknown) => thrown);
  if (error instanceof HttpError) return error.kind;
  throw new Error(`${text} was decoded.`);
}

const chunkSizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });

describe('a file in base64', () => {
  it('decodes to what was encoded', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), chunkSizes, async (bytes, sizes) => {
        const { mediaType, bytes: decoded } = await decode(Buffer.from(bytes).toString('base64'), sizes);
        expect(mediaType).to.equal(undefined);
        expect(decoded.equals(bytes)).to.equal(true);
      }),
    );
  });

  it('decodes from a data URL, with the type that it declares', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), chunkSizes, async (bytes, sizes) => {
        const base64 = Buffer.from(bytes).toString('base64');
        for (const [header, mediaType] of [
          ['data:image/png;base64,', 'image/png'],
          ['DATA:Image/PNG;charset=x;BASE64,', 'image/png'],
          ['data:;base64,', undefined],
        ] as const) {
          const decoded = await decode(header + base64, sizes);
          expect(decoded.mediaType).to.equal(mediaType);
          expect(decoded.bytes.equals(bytes)).to.equal(true);
        }
      }),
    );
  });

  it('decodes in the URL alphabet, without padding, and with white space anywhere', async () => {
    const blanks = fc.array(fc.tuple(fc.nat(), fc.constantFrom(' ', '\n', '\r\n', '\t')), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), blanks, chunkSizes, async (bytes, spaces, sizes) => {
        const base64 = Buffer.from(bytes).toString('base64');
        for (const form of [base64, Buffer.from(bytes).toString('base64url'), base64.replaceAll('=', '')]) {
          let text = form;
          for (const [place, blank] of spaces) {
            const at = place % (text.length + 1);
            text = text.slice(0, at) + blank + text.slice(at);
          }
          for (const written of [text, ` \ndata:image/png;base64,${text}`])
            expect((await decode(written, sizes)).bytes.equals(bytes), JSON.stringify(written)).to.equal(true);
        }
      }),
    );
  });

  it('decodes in lines of 76 characters', async () => {
    const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 256));
    const lines = bytes.toString('base64').replaceAll(/.{76}/g, '$&\r\n');
    for (const size of [1, 7, 76, 78, 4_096]) expect((await decode(lines, [size])).bytes.equals(bytes)).to.equal(true);
  });

  it('is refused with another character in it, or with too many', async () => {
    const outside = fc
      .integer({ min: 0, max: 255 })
      .filter((code) => !/[A-Za-z0-9+/=_\- \t\n\f\r]/.test(String.fromCharCode(code)));
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1 }),
        outside,
        fc.nat(),
        chunkSizes,
        async (bytes, code, place, sizes) => {
          const text = Buffer.from(bytes).toString('base64');
          const at = place % text.length;
          const char = String.fromCharCode(code);
          for (const broken of [
            `${text}=`,
            text.includes('=') ? `${text}A` : `${text}A=`,
            text.slice(0, at) + char + text.slice(at + 1),
            text.slice(0, at) + char + text.slice(at),
          ])
            expect(await base64Refusal(broken, sizes), broken).to.equal('bad-answer');
        },
      ),
    );
  });

  it('is refused where it is cut off, and in what is none', async () => {
    const cutOff = 'Q QUJDQ = ==== Q=== QQ=Q QQ==QUJD QR== QR QUK= QUK \0QUJD https://example.com/a.png';
    const urls = 'data:image/png,plain data:image/png;base64 data:image/png;base64;QUJD';
    const long = [`data:image/png;${'x'.repeat(300)};base64,QUJD`, `data:${'x'.repeat(100_000)}`];
    for (const text of [...`${cutOff} ${urls}`.split(' '), ...long])
      expect(await base64Refusal(text), text.slice(0, 40)).to.equal('bad-answer');
  });

  it('is bounded by its decoded size', async () => {
    const text = Buffer.alloc(100, 'x').toString('base64');
    expect((await decode(text, [7], 100)).bytes).to.have.length(100);
    expect(await base64Refusal(text, [7], 99)).to.equal('too-large');
  });
});
