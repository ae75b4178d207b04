/*
 * Goal: base64 and data URLs decode to exactly what was encoded, however they are cut; anything else is refused.
 * Method: properties against the platform's own encoder, and a table of what is no base64.
 */
import { expect } from 'chai';
import fc from 'fast-check';
import { HttpError } from '../../../../adapters/http/http-error.js';
import { decodedBase64, encodedText } from '../../../../adapters/http/json/base64.js';
import type { ReadFailure } from '../../../../adapters/http/json/json-scanner.js';

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

  it('decodes in the URL alphabet, without padding, and with white space anywhere', async () => {
    const blanks = fc.array(fc.tuple(fc.nat(), fc.constantFrom(' ', '\n', '\r\n', '\t')), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.uint8Array(), blanks, sizesOf, async (bytes, spaces, sizes) => {
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
        sizesOf,
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
            expect(await refusalOf(broken, sizes), broken).to.equal('bad-answer');
        },
      ),
    );
  });

  it('is refused where it is cut off, and in what is none', async () => {
    for (const text of [
      'Q',
      'QUJDQ',
      '=',
      '====',
      'Q===',
      'QQ=Q',
      'QQ==QUJD',
      'QR==',
      'QR',
      'QUK=',
      'QUK',
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
