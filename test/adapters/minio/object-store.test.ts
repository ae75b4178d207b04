// Goal: objects in a bucket keep the port's contract, on two S3 servers that have little in common.
// Method: the contract, a fresh bucket for each test.
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { sendByFetch } from '../../contracts/object-store-subject.js';
import { objectStoreContract } from '../../contracts/object-store.contract.js';
import { S3_KINDS } from '../../harness/store-pairs.js';
import { freshBucket, type FreshBucket } from '../../servers/fresh-places.js';
import { orSkip, s3Server, type S3Server } from '../../servers/servers.js';
import { openIn } from './minio-buckets.js';

for (const kind of S3_KINDS) {
  describe(kind, () => {
    const buckets = new Map<ObjectStore, FreshBucket>();
    let server: S3Server;
    before(async function findServer() {
      server = await orSkip(this, s3Server(kind));
    });

    objectStoreContract({
      name: `minio on ${kind}`,
      open: async () => {
        const bucket = freshBucket(server);
        const store = await openIn(bucket);
        buckets.set(store, bucket);
        return store;
      },
      close: async (store) => {
        await buckets.get(store)!.remove();
        buckets.delete(store);
      },
      supports: {
        send: sendByFetch,
        now: () => Date.now(),
        refusesInvalidKeys: true,
        signsWholeAddress: true,
        sendsNosniff: kind === 'minio',
        keepsEveryKey: false,
        copiesOntoOneKeyOnce: kind === 'minio',
      },
    });
  });
}
