// Goal: objects in a bucket keep the port's contract, on two S3 servers that have little in common.
// Method: the contract, a fresh bucket for each test.
import type { MinioOptions } from '../../../adapters/minio/minio-options.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { sendByFetch } from '../../contracts/object-store-subject.js';
import { objectStoreContract } from '../../contracts/object-store.contract.js';
import { freshBucket, openFresh, removeBucket, S3_KINDS, serverFor } from './s3-servers.js';
import type { Server } from './s3-servers.js';

for (const kind of S3_KINDS) {
  describe(kind, () => {
    const opened = new Map<ObjectStore, MinioOptions>();
    let server: Server;
    before(async function findServer() { server = await serverFor(kind, this); });

    objectStoreContract({
      name: `minio on ${kind}`,
      open: async () => {
        const options = freshBucket(server);
        const store = await openFresh(options);
        opened.set(store, options);
        return store;
      },
      close: async (store) => {
        await removeBucket(opened.get(store)!);
        opened.delete(store);
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
