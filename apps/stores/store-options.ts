import type { MinioOptions } from '../../adapters/minio/minio-options.js';
import type { MongoOptions } from '../../adapters/mongo/open-mongo.js';
import { assert } from '../../core/assert.js';
import type { Config } from '../config/config.js';

/** What `loadConfig` has seen to be there where MongoDB was chosen. */
export function mongoOptions({ mongo: { url, ...rest } }: Config): MongoOptions {
  assert(url !== undefined, 'a database that is mongo has an address');
  return { url, ...rest };
}

/** What `loadConfig` has seen to be there where an S3 store was chosen. */
export function minioOptions({ minio: { endpoint, accessKey, secretKey, ...rest }, settings }: Config): MinioOptions {
  assert(endpoint !== undefined && accessKey !== undefined && secretKey !== undefined, 'an object store that is minio has an address and a key');
  return { endpoint, accessKey, secretKey, ...rest, longestAddressMs: Math.max(settings.uploadTargetMs, settings.outputUrlMs) };
}
