import {
  FILLED_TEXT,
  type ObjectsDriver,
  type ObjectsInspection,
  ObjectsMissing,
  type OpenObjects,
  type Options,
} from '../driver.js';
import type { MinioObjectStore } from './minio-object-store.js';
import { BucketMissing, type MinioOptions } from './minio-options.js';

interface MinioSection {
  readonly endpoint: string;
  readonly public_endpoint?: string;
  readonly region: string;
  readonly bucket: string;
  readonly access_key: string;
  readonly secret_key: string;
  readonly upload_access_key?: string;
  readonly upload_secret_key?: string;
  readonly timeout_seconds: number;
}

const URL = {
  type: 'string',
  format: 'uri',
  pattern: '^https?://[^?#@\\s]+$',
  errorMessage: 'must be an http or https URL without a query',
} as const;
const SECRET = { ...FILLED_TEXT, writeOnly: true } as const;

/** A bucket of an S3 store, MinIO or another, shared by any number of processes. */
export const minioDriver: ObjectsDriver = {
  kind: 'objects',
  name: 'minio',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['endpoint', 'access_key', 'secret_key'],
    properties: {
      endpoint: { ...URL, description: "The S3 store's address for this process." },
      public_endpoint: { ...URL, description: "The S3 store's address for clients, if it differs." },
      region: { ...FILLED_TEXT, default: 'us-east-1' },
      bucket: { ...FILLED_TEXT, default: 'darkroom' },
      access_key: {
        ...SECRET,
        description:
          'The key of a user that may read, write, remove and list. Preferably set by DARKROOM_MINIO_ACCESS_KEY and DARKROOM_MINIO_SECRET_KEY.',
      },
      secret_key: { ...SECRET, description: 'The secret of access_key.' },
      upload_access_key: {
        ...SECRET,
        description:
          'The keys of a user that may only put objects under staging/. Required for a store that lets uploads copy objects and issues no temporary keys; the program reports this when it starts. Variables: DARKROOM_MINIO_UPLOAD_ACCESS_KEY and DARKROOM_MINIO_UPLOAD_SECRET_KEY.',
      },
      upload_secret_key: { ...SECRET, description: 'The secret of upload_access_key.' },
      timeout_seconds: {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: 300,
        default: 10,
        description: 'The longest wait for the next data from the store.',
      },
    },
  },

  faults(options) {
    const { upload_access_key: key, upload_secret_key: secret } = sectionOf(options);
    return (key === undefined) === (secret === undefined)
      ? []
      : ['minio.upload_access_key and minio.upload_secret_key belong together: give both or neither.'];
  },

  async open(opening) {
    const { MinioObjectStore: Store } = await import('./minio-object-store.js');
    const options = { ...optionsOf(opening), clock: opening.clock };
    return opened(opening.as === 'tool' ? Store.unasked(options) : await Store.open(options).catch(missing));
  },

  async inspect(opening) {
    const { MinioObjectStore: Store } = await import('./minio-object-store.js');
    const store = await Store.lookAt({ ...optionsOf(opening), clock: opening.clock }).catch(missing);
    const identity = await store.keptInstallationId();
    return identity === undefined
      ? { unmade: `The bucket ${sectionOf(opening.options).bucket} could not be set up` }
      : { identity };
  },

  async migrate(opening) {
    const { setUpBucket } = await import('./set-up-bucket.js');
    return setUpBucket(optionsOf(opening));
  },
};

function opened(store: MinioObjectStore): OpenObjects {
  return { store, identity: () => store.installationId() };
}

function missing(error: unknown): never {
  throw error instanceof BucketMissing
    ? new ObjectsMissing(error.message, { kind: 'bucket', name: error.where, key: 'minio.bucket' })
    : error;
}

function sectionOf(options: Options): MinioSection {
  return options as unknown as MinioSection;
}

function optionsOf({ options, longestAddressMs }: ObjectsInspection): MinioOptions {
  const { endpoint, public_endpoint: publicEndpoint, region, bucket, ...section } = sectionOf(options);
  const { upload_access_key: uploadAccessKey, upload_secret_key: uploadSecretKey } = section;
  return {
    endpoint,
    ...(publicEndpoint === undefined ? {} : { publicEndpoint }),
    region,
    bucket,
    accessKey: section.access_key,
    secretKey: section.secret_key,
    ...(uploadAccessKey === undefined ? {} : { uploadAccessKey }),
    ...(uploadSecretKey === undefined ? {} : { uploadSecretKey }),
    timeoutMs: Math.max(1, Math.round(section.timeout_seconds * 1_000)),
    longestAddressMs,
  };
}
