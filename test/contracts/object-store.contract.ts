// Goal: in every store, objects appear whole or not at all, only the version that was seen is copied, and a signed
// request does only what its signature allows.
// Method: each promise of the port separately, refusals first; signed requests are sent as a client sends them.
import { expect } from 'chai';
import { breakingOff, bytesOf, collected, inPieces } from '../fixtures/byte-streams.js';
import { sha256Of } from '../fixtures/sha256.js';
import { addedHeadersContract } from './object-store-added-headers.contract.js';
import { signedRequestsContract } from './object-store-signed.contract.js';
import type { ObjectStoreSubject } from './object-store-subject.js';
import { contract } from './subject.js';

const PNG = { mediaType: 'image/png', maxBytes: 1024 * 1024 } as const;
const INVALID_KEYS = [
  '',
  '/',
  'a//b',
  '/a',
  'a/',
  '.',
  '..',
  'a/../b',
  'a/./b',
  '../a',
  'A',
  'a b',
  'a\\b',
  'a%2fb',
  'a\u0000',
  'é',
  'a\n',
  'x'.repeat(513),
];
const EDGE_KEYS = [
  'a',
  '0',
  '-',
  '_',
  '...',
  'a..b',
  '.a',
  'a.',
  'b/...',
  'a.tmp',
  'x'.repeat(255),
  `${'d/'.repeat(255)}x`,
];
/** No file can be named so, or have a folder's name. */
const KEYS_OF_NO_FILE = ['x'.repeat(512), 'a/...'];

export function objectStoreContract(subject: ObjectStoreSubject): void {
  contract('ObjectStore contract', subject, (store) => {
    const put = async (key: string, text: string) => store().write(key, inPieces(bytesOf(text), 3), PNG);
    async function textAt(key: string, range?: { from: number; to: number }): Promise<string | null> {
      const found = await store().read(key, range);
      return found === null ? null : new TextDecoder().decode(await collected(found));
    }
    const etagOf = async (key: string) => (await store().stat(key))!.etag;

    it('answers null for a missing object, and accepts its removal', async () => {
      expect(await store().stat('no/such')).to.equal(null);
      expect(await store().read('no/such')).to.equal(null);
      await store().remove('no/such');
      await put('a/b', 'x');
      expect(await store().stat('a'), 'a prefix is no object').to.equal(null);
    });

    it('refuses keys of another form', async function refusesKeys() {
      if (!subject.supports.refusesInvalidKeys) {
        console.log(`      skipped: ${subject.name} does not look at the form of keys`);
        this.skip();
      }
      for (const key of INVALID_KEYS) {
        const tries: Promise<unknown>[] = [
          store().stat(key),
          store().read(key),
          put(key, 'x'),
          store().remove(key),
          store().copy(key, 'to', 'e'),
          store().copy('from', key, 'e'),
        ];
        const outcomes = await Promise.all(
          tries.map(async (tried) =>
            tried.then(
              () => 'accepted',
              (error: unknown) => error,
            ),
          ),
        );
        for (const outcome of outcomes) expect(outcome, JSON.stringify(key)).to.be.instanceOf(RangeError);
      }
    });

    it('accepts every key of the right form, and distinguishes them', async () => {
      if (!subject.supports.keepsEveryKey)
        console.log(`      left out: ${subject.name} keeps no keys that its files cannot be named by`);
      const keys = [...EDGE_KEYS, ...(subject.supports.keepsEveryKey ? KEYS_OF_NO_FILE : [])];
      for (const key of keys) await put(key, `at ${key}`);
      for (const key of keys) expect(await textAt(key)).to.equal(`at ${key}`);
    });

    it('stores nothing beyond the limit, and keeps the existing object', async () => {
      await put('key', 'before');
      for (const limit of [0, 5]) {
        expect(
          await store().write('key', inPieces(bytesOf('longer'), 2), { mediaType: 'image/png', maxBytes: limit }),
        ).to.equal('too-large');
        expect(
          await store().write('new', inPieces(bytesOf('longer'), 2), { mediaType: 'image/png', maxBytes: limit }),
        ).to.equal('too-large');
      }
      expect(await textAt('key')).to.equal('before');
      expect(await store().stat('new')).to.equal(null);
    });

    it('stores nothing when the source fails, and passes the failure on', async () => {
      await put('key', 'before');
      for (const key of ['key', 'new']) {
        const outcome = await store()
          .write(key, breakingOff(bytesOf('half')), PNG)
          .then(
            () => 'stored',
            (error: Error) => error.message,
          );
        expect(outcome).to.equal('the line broke');
      }
      expect(await textAt('key')).to.equal('before');
      expect(await store().stat('new')).to.equal(null);
    });

    it('writes, replaces and removes', async () => {
      expect(await put('key', 'one')).to.deep.equal({ byteSize: 3, sha256: sha256Of(bytesOf('one')) });
      expect(await put('key', 'other')).to.deep.equal({ byteSize: 5, sha256: sha256Of(bytesOf('other')) });
      expect(await store().stat('key')).to.have.property('byteSize', 5);
      expect(await textAt('key')).to.equal('other');
      await store().remove('key');
      expect(await store().stat('key')).to.equal(null);
    });

    it('keeps an object without bytes', async () => {
      expect(await put('empty', '')).to.deep.equal({ byteSize: 0, sha256: sha256Of(new Uint8Array()) });
      expect(await store().stat('empty')).to.have.property('byteSize', 0);
      expect(await textAt('empty')).to.equal('');
    });

    it('accepts exactly as many bytes as the limit', async () => {
      expect(
        await store().write('key', inPieces(bytesOf('12345')), { mediaType: 'image/png', maxBytes: 5 }),
      ).to.have.property('byteSize', 5);
    });

    it('reads ranges, cut at the end of the object', async () => {
      await put('key', '0123456789');
      expect(await textAt('key', { from: 0, to: 4 })).to.equal('0123');
      expect(await textAt('key', { from: 4, to: 10 })).to.equal('456789');
      expect(await textAt('key', { from: 8, to: 99 })).to.equal('89');
      expect(await textAt('key', { from: 3, to: 3 })).to.equal('');
      expect(await textAt('missing', { from: 0, to: 1 })).to.equal(null);
    });

    it('reads back many bytes unchanged', async () => {
      const bytes = Uint8Array.from({ length: 700_001 }, (_, i) => (i * 7919) & 0xff);
      expect(await store().write('big', inPieces(bytes, 65_537), PNG)).to.deep.equal({
        byteSize: bytes.byteLength,
        sha256: sha256Of(bytes),
      });
      expect(sha256Of(await collected((await store().read('big'))!))).to.equal(sha256Of(bytes));
      expect(sha256Of(await collected((await store().read('big', { from: 65_000, to: 200_000 }))!))).to.equal(
        sha256Of(bytes.subarray(65_000, 200_000)),
      );
    });

    it('changes the etag whenever the bytes change, those of the same length too', async () => {
      const seen = new Set<string>();
      for (let i = 0; i < 50; i += 1) {
        await put('key', `v${String(i).padStart(3, '0')}`);
        seen.add(await etagOf('key'));
      }
      expect(seen.size).to.equal(50);
    });

    it('keeps the etag while nothing is written', async () => {
      await put('key', 'same');
      expect(await etagOf('key')).to.equal(await etagOf('key'));
    });

    it('copies only the version that was seen', async () => {
      expect(await store().copy('from', 'to', 'any')).to.equal('missing');
      await put('from', 'first');
      const first = await etagOf('from');
      await put('from', 'later');
      expect(await store().copy('from', 'to', first)).to.equal('changed');
      expect(await store().stat('to')).to.equal(null);
      expect(await store().copy('from', 'to', await etagOf('from'))).to.equal('copied');
      expect(await textAt('to')).to.equal('later');
    });

    it('never overwrites an object by a copy', async () => {
      await put('from', 'new');
      await put('to', 'old');
      expect(await store().copy('from', 'to', await etagOf('from'))).to.equal('exists');
      expect(await textAt('to')).to.equal('old');
    });

    it('keeps the copy when the original is replaced or removed', async () => {
      await put('from', 'copied');
      await store().copy('from', 'to', await etagOf('from'));
      await put('from', 'replaced');
      expect(await textAt('to')).to.equal('copied');
      await store().remove('from');
      expect(await textAt('to')).to.equal('copied');
    });

    it('accepts exactly one of many concurrent copies', async function concurrentCopies() {
      if (!subject.supports.copiesOntoOneKeyOnce) {
        console.log(`      skipped: ${subject.name} looks first and then copies`);
        this.skip();
      }
      for (let i = 0; i < 10; i += 1) await put(`from/${i}`, `text ${i}`);
      const results = await Promise.all(
        Array.from({ length: 10 }, async (_, i) => store().copy(`from/${i}`, 'to', await etagOf(`from/${i}`))),
      );
      expect(results.filter((result) => result === 'copied')).to.have.length(1);
      expect(results.filter((result) => result === 'exists')).to.have.length(9);
      expect(await textAt('to')).to.equal(`text ${results.indexOf('copied')}`);
    });

    it('never shows a mixture of concurrent writes', async () => {
      const texts = Array.from({ length: 12 }, (_, i) => String.fromCharCode(97 + i).repeat(50_000));
      await put('key', texts[0]!);
      await Promise.all(
        texts.map(async (text) => {
          await store().write('key', inPieces(bytesOf(text), 10_000), PNG);
          expect(texts).to.include(await textAt('key'));
        }),
      );
      expect(texts).to.include(await textAt('key'));
      expect(await store().stat('key')).to.have.property('byteSize', 50_000);
    });

    it('copies what was seen even while it is being replaced', async () => {
      await put('from', 'seen');
      const seen = await etagOf('from');
      const results = await Promise.all(
        Array.from({ length: 30 }, async (_, i) => {
          if (i % 3 === 0) await put('from', i % 2 === 0 ? 'seen' : 'unseen');
          return { to: `to/${i}`, result: await store().copy('from', `to/${i}`, seen) };
        }),
      );
      for (const { to, result } of results) expect(await textAt(to)).to.equal(result === 'copied' ? 'seen' : null);
    });

    signedRequestsContract(subject, store);
    addedHeadersContract(subject, store);
  });
}
