import { expect } from 'chai';
import type { ObjectStore, SignedRequest } from '../../core/ports/object-store.js';
import { bytesOf, collected, inPieces } from '../fixtures/byte-streams.js';
import { sha256Of } from '../fixtures/sha256.js';
import type { ObjectStoreSubject, SentRequest } from './object-store-subject.js';

const BODY = bytesOf('exactly these bytes');
const SHA256 = sha256Of(BODY);
/** Far more than the clocks of two machines, or of a server and its client, are apart. */
const HOUR_MS = 3_600_000;

/** The header of this name, whatever its case, with another value; unchanged when it is not there. */
function withHeader(headers: Readonly<Record<string, string>>, name: string, value: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([own, old]) => [own, own.toLowerCase() === name ? value : old]),
  );
}

/** The part of the object store's contract that clients see; registered inside its `describe`. */
export function signedRequestsContract({ supports }: ObjectStoreSubject, store: () => ObjectStore): void {
  const soon = () => supports.now() + HOUR_MS;
  const signPut = async (sha256?: string, expiresAt = soon()) =>
    store().signPut({
      key: 'staging/one',
      mediaType: 'image/png',
      byteSize: BODY.byteLength,
      expiresAt,
      ...(sha256 === undefined ? {} : { sha256 }),
    });
  const signGet = async (key = 'out/one', expiresAt = soon()) =>
    store().signGet({ key, mediaType: 'image/png', filename: 'one.png', expiresAt });

  async function refusesPut(signed: SignedRequest, change: Partial<SentRequest>): Promise<void> {
    const { status } = await supports.send(store(), { body: BODY, ...signed, ...change });
    expect(status).to.be.within(400, 499);
    expect(await store().stat('staging/one'), 'nothing is stored').to.equal(null);
  }

  describe('signed PUT', () => {
    it('refuses another media type', async () => {
      const signed = await signPut();
      await refusesPut(signed, { headers: withHeader(signed.headers, 'content-type', 'text/html') });
    });

    it('refuses fewer bytes, more bytes and none', async () => {
      for (const body of [BODY.subarray(1), new Uint8Array([...BODY, 0]), new Uint8Array()])
        await refusesPut(await signPut(), { body });
    });

    it('refuses other bytes of the same length when the digest was signed', async () => {
      await refusesPut(await signPut(SHA256), { body: Uint8Array.from(BODY).fill(7) });
    });

    it('refuses a request without a header it must carry', async () => {
      const signed = await signPut(SHA256);
      // Content-Length is left to HTTP libraries, which send the true one.
      for (const left of Object.keys(signed.headers).filter((name) => name.toLowerCase() !== 'content-length')) {
        await refusesPut(signed, {
          headers: Object.fromEntries(Object.entries(signed.headers).filter(([name]) => name !== left)),
        });
      }
    });

    it('refuses another key, another method and an expired address', async () => {
      const signed = await signPut();
      const other = await supports.send(store(), {
        body: BODY,
        ...signed,
        url: signed.url.replace('staging/one', 'staging/two'),
      });
      expect(other.status).to.be.within(400, 499);
      expect(await store().stat('staging/two')).to.equal(null);
      expect((await supports.send(store(), { url: signed.url, method: 'GET', headers: {} })).status).to.be.within(
        400,
        499,
      );
      await refusesPut(await signPut(undefined, supports.now() - HOUR_MS), {});
    });

    it('refuses a PUT with an address signed for GET', async () => {
      await refusesPut(await signGet('staging/one'), { method: 'PUT' });
    });

    for (const sha256 of [undefined, SHA256]) {
      it(`stores exactly the bytes ${sha256 === undefined ? 'without' : 'with'} a digest, again and again`, async () => {
        const signed = await signPut(sha256);
        expect(signed.method).to.equal('PUT');
        for (let time = 0; time < 2; time += 1) {
          expect((await supports.send(store(), { ...signed, body: BODY })).status).to.equal(200);
          expect(await collected((await store().read('staging/one'))!)).to.deep.equal(BODY);
        }
      });
    }
  });

  describe('signed GET', () => {
    beforeEach(async () => {
      await store().write('out/one', inPieces(BODY), { mediaType: 'application/octet-stream', maxBytes: 1000 });
    });

    it('refuses another key, an expired address and a missing object', async () => {
      const signed = await signGet();
      await store().write('out/two', inPieces(BODY), { mediaType: 'image/png', maxBytes: 1000 });
      expect(
        (await supports.send(store(), { ...signed, url: signed.url.replace('out/one', 'out/two') })).status,
      ).to.be.within(400, 499);
      expect((await supports.send(store(), await signGet('out/one', supports.now() - HOUR_MS))).status).to.be.within(
        400,
        499,
      );
      expect((await supports.send(store(), await signGet('out/none'))).status).to.equal(404);
    });

    it('gives the bytes with the signed type and an inline name', async () => {
      const answer = await supports.send(store(), await signGet());
      expect(answer.status).to.equal(200);
      expect(answer.body).to.deep.equal(BODY);
      expect(answer.headers['content-type']).to.equal('image/png');
      expect(answer.headers['content-disposition']).to.match(/^inline; ?filename="one\.png"$/);
    });

    it('honours a range', async () => {
      const answer = await supports.send(store(), { ...(await signGet()), headers: { Range: 'bytes=8-12' } });
      expect(answer.status).to.equal(206);
      expect(answer.headers['content-range']).to.equal(`bytes 8-12/${BODY.byteLength}`);
      expect(answer.body).to.deep.equal(BODY.subarray(8, 13));
    });

    it('sends nosniff', async function nosniff() {
      if (!supports.sendsNosniff) {
        console.log('      skipped: this store leaves nosniff to the proxy in front of it');
        this.skip();
      }
      expect((await supports.send(store(), await signGet())).headers['x-content-type-options']).to.equal('nosniff');
    });

    it('refuses a changed type or name', async function wholeAddress() {
      if (!supports.signsWholeAddress) {
        console.log('      skipped: this store does not spell type and name out in its addresses');
        this.skip();
      }
      const signed = await signGet();
      for (const [old, other] of [
        ['png', 'svg'],
        ['one.png', 'one.html'],
      ] as const) {
        const url = signed.url.replace(/\?.*$/, (query) => query.replaceAll(old, other));
        expect(url).not.to.equal(signed.url);
        expect((await supports.send(store(), { ...signed, url })).status).to.be.within(400, 499);
      }
    });
  });
}
