import { MinioRefused } from './minio-refused.js';

export interface MinioOptions {
  /** Where this process reaches the object store: `http://` or `https://`, a host and perhaps a port. */
  readonly endpoint: string;
  /** Where clients reach it, when that is elsewhere; signed addresses begin with it. No path either: the signature covers it. */
  readonly publicEndpoint?: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** The longest wait without a sign of life, in milliseconds, to connect too. Default 10,000; at most ten minutes. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 600_000;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const REGION = /^[a-z0-9-]{1,64}$/;

/** The options, looked at. */
export interface CheckedOptions {
  readonly endpoint: URL;
  readonly publicOrigin: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly timeoutMs: number;
}

/** Throws `MinioRefused` for what cannot work, whatever the server says. */
export function checkOptions(options: MinioOptions): CheckedOptions {
  const { region, bucket, accessKey, secretKey, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const endpoint = readEndpoint(options.endpoint, 'endpoint');
  const publicOrigin = readEndpoint(options.publicEndpoint ?? options.endpoint, 'public endpoint').origin;
  need(REGION.test(region), 'The region of the object store must be a name such as us-east-1.');
  need(BUCKET.test(bucket), 'The bucket must be named by 3 to 63 lower-case letters, digits, dots and hyphens.');
  need(accessKey !== '' && secretKey !== '', 'The object store needs an access key and a secret key.');
  need(Number.isSafeInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS, `The object store's timeout must be 1 to ${MAX_TIMEOUT_MS} ms.`);
  return { endpoint, publicOrigin, region, bucket, accessKey, secretKey, timeoutMs };
}

/** The value is not repeated: whoever writes a password into it would find it in the log. */
function readEndpoint(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new MinioRefused(`The object store's ${name} must be an address such as http://127.0.0.1:9000.`);
  }
  const isBare = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  need(isBare, `The object store's ${name} must be a scheme, a host and a port only: a path would be signed, and no server behind it would see that path.`);
  return url;
}

function need(holds: boolean, message: string): void {
  if (!holds) throw new MinioRefused(message);
}
