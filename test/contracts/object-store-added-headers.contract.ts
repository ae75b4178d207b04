import { createHash } from 'node:crypto';
import { expect } from 'chai';
import type { ObjectStore } from '../../core/ports/object-store.js';
import { bytesOf, collected, inPieces } from '../fixtures/byte-streams.js';
import { sha256Of } from '../fixtures/sha256.js';
import type { ObjectStoreSubject, SentAnswer } from './object-store-subject.js';

const BODY = bytesOf('exactly these bytes');
const SECRET = bytesOf('what somebody else was given');

const CUSTOMER_KEY = Buffer.alloc(32, 1);
const HARMLESS_AT_WORST: readonly Readonly<Record<string, string>>[] = [
  { 'x-amz-copy-source-range': 'bytes=0-1' },
  { 'x-amz-object-lock-mode': 'COMPLIANCE', 'x-amz-object-lock-retain-until-date': '2099-01-01T00:00:00Z' },
  { 'x-amz-object-lock-legal-hold': 'ON' },
  { 'x-amz-acl': 'public-read' },
  { 'x-amz-grant-read': 'uri="http://acs.amazonaws.com/groups/global/AllUsers"' },
  { 'x-amz-tagging': 'a=b' },
  { 'x-amz-meta-snowball-auto-extract': 'true' },
  {
    'x-amz-server-side-encryption-customer-algorithm': 'AES256',
    'x-amz-server-side-encryption-customer-key': CUSTOMER_KEY.toString('base64'),
    'x-amz-server-side-encryption-customer-key-MD5': createHash('md5').update(CUSTOMER_KEY).digest('base64'),
  },
];

/** One chunk, with a checksum after it instead of a signature. */
const FRAMED = {
  headers: {
    'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'x-amz-decoded-content-length': '4',
    'x-amz-trailer': 'x-amz-checksum-crc32',
    'Content-Encoding': 'aws-chunked',
  },
  body: bytesOf('4\r\nEVIL\r\n0\r\nx-amz-checksum-crc32:u27c5g==\r\n\r\n'),
} as const;

/** The part of the object store's contract about what clients add to a request; registered inside its `describe`. */
export function addedHeadersContract({ supports }: ObjectStoreSubject, store: () => ObjectStore): void {
  const signPut = async (body: Uint8Array) =>
    store().signPut({
      key: 'staging/one',
      mediaType: 'image/png',
      byteSize: body.byteLength,
      sha256: sha256Of(body),
      expiresAt: supports.now() + 60_000,
    });

  describe('signed PUT with unsigned headers', () => {
    beforeEach(async () => {
      await store().write('out/secret', inPieces(SECRET), { mediaType: 'image/png', maxBytes: 1000 });
    });

    it('copies no other object, and reveals nothing of it', async () => {
      const read = await store().signGet({
        key: 'out/secret',
        mediaType: 'image/png',
        filename: 'one.png',
        expiresAt: supports.now() + 60_000,
      });
      const path = new URL(read.url).pathname;
      const sources = [path, path.slice(1), encodeURIComponent(path), `${path}?versionId=null`];
      for (const body of [new Uint8Array(), BODY]) {
        for (const source of sources) {
          const signed = await signPut(body);
          const headers = { ...signed.headers, 'x-amz-copy-source': source, 'x-amz-metadata-directive': 'REPLACE' };
          const answer = await supports.send(store(), { ...signed, headers, body });
          await storesOnly(body, answer);
        }
      }
    });

    for (const added of HARMLESS_AT_WORST) {
      it(`does no harm with ${Object.keys(added).join(' and ')}`, async () => {
        const signed = await signPut(BODY);
        const answer = await supports.send(store(), {
          ...signed,
          headers: { ...signed.headers, ...added },
          body: BODY,
        });
        await storesOnly(BODY, answer);
        await store().remove('staging/one');
        expect(await store().stat('staging/one'), 'it can be removed').to.equal(null);
        expect(await collected((await store().read('out/secret'))!), 'other objects are as they were').to.deep.equal(
          SECRET,
        );
      });
    }

    it('accepts no unsigned bytes, however they are framed, from a client with some address', async () => {
      const read = await store().signGet({
        key: 'out/secret',
        mediaType: 'image/png',
        filename: 'one.png',
        expiresAt: supports.now() + 60_000,
      });
      const answer = await supports.send(store(), { ...read, method: 'PUT', ...FRAMED });
      expect(answer.status).to.be.within(400, 499);
      expect(await collected((await store().read('out/secret'))!)).to.deep.equal(SECRET);
      const write = await signPut(BODY);
      await supports.send(store(), {
        ...write,
        url: write.url.replace('staging/one', 'out/secret'),
        headers: { ...write.headers, ...FRAMED.headers },
        body: FRAMED.body,
      });
      expect(await collected((await store().read('out/secret'))!)).to.deep.equal(SECRET);
    });

    /** Either nothing or the signed object is stored, and the answer does not reveal another object. */
    async function storesOnly(body: Uint8Array, { body: answer }: SentAnswer): Promise<void> {
      const stored = await store().read('staging/one');
      if (stored !== null) expect(await collected(stored)).to.deep.equal(body);
      expect(Buffer.from(answer).toString()).not.to.include('CopyObjectResult');
    }
  });
}
