// Goal: clients may reach the object store at another address than the service does; a signed URL works at that address
// and only there.
// Method: a TCP proxy's address as the public one; requests sent as a client would, with the corresponding Host header.
import { expect } from 'chai';
import { bytesOf, collected, inPieces } from '../../fixtures/byte-streams.js';
import { TcpLink } from '../../fixtures/tcp-link.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { orSkip, s3Server, toxiproxyServer, type ToxiproxyServer } from '../../servers/servers.js';
import { openIn } from './minio-buckets.js';

const BODY = bytesOf('what a client sends');
const soon = () => Date.now() + 60_000;

for (const kind of S3_KINDS) {
  describe(`MinioObjectStore with a public endpoint on ${kind}`, () => {
    let toxiproxy: ToxiproxyServer;
    let bucket: FreshBucket;
    let link: TcpLink;
    before(async function findServers() {
      bucket = freshBucket(await orSkip(this, s3Server(kind)));
      toxiproxy = await orSkip(this, toxiproxyServer());
    });
    beforeEach(async () => {
      link = await TcpLink.open(toxiproxy, new URL(bucket.endpoint).host);
    });
    afterEach(async () => {
      await link.close();
      await bucket.remove();
    });

    it('signs for the public address, and calls the internal one', async () => {
      const publicEndpoint = `http://${link.address}`;
      const store = await openIn({ ...bucket, publicEndpoint });
      const put = await store.signPut({
        key: 'staging/one',
        mediaType: 'image/png',
        byteSize: BODY.byteLength,
        expiresAt: soon(),
      });
      expect(put.url).to.match(new RegExp(`^${publicEndpoint}/${bucket.bucket}/staging/one\\?`));
      expect((await fetch(put.url, { method: 'PUT', headers: put.headers, body: BODY })).status).to.equal(200);
      expect(await collected((await store.read('staging/one'))!)).to.deep.equal(BODY);

      const get = await store.signGet({
        key: 'staging/one',
        mediaType: 'image/png',
        filename: 'A café, "half" 50% + más.png',
        expiresAt: soon(),
      });
      const answer = await fetch(get.url);
      expect(new Uint8Array(await answer.arrayBuffer())).to.deep.equal(BODY);
      expect(answer.headers.get('content-disposition')).to.include(`filename*=UTF-8''A%20caf%C3%A9`);

      const elsewhere = get.url.replace(publicEndpoint, bucket.endpoint);
      expect((await fetch(elsewhere)).status, 'the host is signed').to.equal(403);
      await link.cut();
      expect(await store.stat('staging/one'), 'our own calls do not pass there').to.have.property(
        'byteSize',
        BODY.byteLength,
      );
    });

    it('handles the time of a signature independently of what it allows', async () => {
      const store = await openIn(bucket);
      await store.write('key', inPieces(BODY), { mediaType: 'image/png', maxBytes: 100 });
      const get = { key: 'key', mediaType: 'image/png', filename: 'one.png' };
      const week = await store.signGet({ ...get, expiresAt: Date.now() + 7 * 24 * 3_600_000 });
      const byAFastClock = await store.signGet({ ...get, expiresAt: Date.now() + 7 * 24 * 3_600_000 + 60_000 });
      expect(byAFastClock.url).to.include('X-Amz-Expires=604800');
      expect((await fetch(week.url)).status, 'the longest there is').to.equal(200);
      const refused = await store
        .signGet({ ...get, expiresAt: Date.now() + 8 * 24 * 3_600_000 })
        .catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(RangeError);
      for (const change of [
        { key: '../key' },
        { mediaType: 'image/png\r\nX: y' },
        { mediaType: 'png' },
        { expiresAt: Number.NaN },
      ]) {
        expect(
          await store.signGet({ ...get, expiresAt: soon(), ...change }).catch((error: unknown) => error),
        ).to.be.instanceOf(RangeError);
      }
      for (const byteSize of [-1, 1.5]) {
        expect(
          await store
            .signPut({ key: 'key', mediaType: 'image/png', byteSize, expiresAt: soon() })
            .catch((error: unknown) => error),
        ).to.be.instanceOf(RangeError);
      }
    });
  });
}
