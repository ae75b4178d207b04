/*
 * Goal: base64 and data URLs decode to exactly what was encoded, however they are cut; anything else is refused.
 * Method: properties against the platform's own encoder, and a table of what is no base64.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { HttpError } from '../../../../adapters/http/http-error.js';
import { decodedBase64 } from '../../../../adapters/http/json/base64.js';
import { encodedText } from '../../../../adapters/http/json/data-url.js';
import type { ReadFailure } from '../../../../adapters/http/json/read-failure.js';

const fail: ReadFailure = (kind, what) => new HttpError(kind, what, { requestSent: true });

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

async function refusalOf(text: string, sizes?: readonly number[], maxBytes?: number): Promise<string> {
  const error: unknown = await decode(text, sizes, maxBytes).catch((thrown: unknown) => thrown);
  if (error instanceof HttpError) return error.kind;
  throw new Error(`${text} was decoded.`);
}

const sizesOf = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });

describe('a file in base64', () => {
  it('decodes to what was encoded', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), sizesOf, async (bytes, sizes) => {
        const { mediaType, bytes: decoded } = await decode(Buffer.from(bytes).toString('base64'), sizes);
        expect(mediaType).to.equal(undefined);
        expect(decoded.equals(bytes)).to.equal(true);
      }),
    );
  });

  it('decodes from a data URL, with the type that it declares', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), sizesOf, async (bytes, sizes) => {
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

  it('is refused if it has one character too many, too few, or another', async () => {
    const outside = fc
      .integer({ min: 0, max: 255 })
      .filter((code) => !/[A-Za-z0-9+/=]/.test(String.fromCharCode(code)));
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1 }),
        outside,
        fc.nat(),
        sizesOf,
        async (bytes, code, place, sizes) => {
          const text = Buffer.from(bytes).toString('base64');
          const at = place % text.length;
          const char = String.fromCharCode(code);
          for (const broken of [
            text.slice(0, -1),
            `${text}=`,
            `${text}A`,
            text.slice(0, at) + char + text.slice(at + 1),
            text.slice(0, at) + char + text.slice(at),
          ])
            expect(await refusalOf(broken, sizes), broken).to.equal('bad-answer');
        },
      ),
    );
  });

  it('is refused in other forms of base64, and in what is none', async () => {
    for (const text of [
      'QUI',
      'QQ',
      'Q',
      '=',
      '====',
      'QQ=',
      'Q===',
      'QQ=Q',
      'QQ==QUJD',
      'QR==',
      'QUK=',
      '_-_-',
      'QUJD\n',
      'QUJD REVG',
      ' QUJD',
      '\0QUJD',
      'https://example.com/a.png',
      'data:image/png,plain',
      'data:image/png;base64',
      'data:image/png;base64;QUJD',
      `data:image/png;${'x'.repeat(300)};base64,QUJD`,
      `data:${'x'.repeat(100_000)}`,
    ])
      expect(await refusalOf(text), text.slice(0, 40)).to.equal('bad-answer');
  });

  it('is bounded by its decoded size', async () => {
    const text = Buffer.alloc(100, 'x').toString('base64');
    expect((await decode(text, [7], 100)).bytes).to.have.length(100);
    expect(await refusalOf(text, [7], 99)).to.equal('too-large');
  });
});
