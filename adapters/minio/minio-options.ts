export interface MinioOptions {
  /** The address at which this process reaches the object store: `http://` or `https://`, a host and perhaps a port. */
  readonly endpoint: string;
  /**
   * The address for clients, when it differs; signed addresses begin with it. No path either: the signature
   * covers it.
   */
  readonly publicEndpoint?: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Sign the addresses of uploads instead, both or none: keys that may do nothing but put objects under `staging/`. */
  readonly uploadAccessKey?: string;
  readonly uploadSecretKey?: string;
  /** The longest that an address will live, in milliseconds. Default and at most seven days. */
  readonly longestAddressMs?: number;
  /** The longest wait without a sign of life, in milliseconds, to connect too. Default 10,000; at most ten minutes. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 600_000;
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;
/**
 * The S3 client calls the host of the region instead of these two, so everything seems to work; but they redirect
 * clients with a signed address, which invalidates the signature. The second is a region's own host too.
 */
const SENT_ELSEWHERE: Readonly<Record<string, string | null>> = {
  's3.amazonaws.com': null,
  's3.cn-north-1.amazonaws.com.cn': 'cn-north-1',
};
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const REGION = /^[a-z0-9-]{1,64}$/;

/** The checked options. */
export interface CheckedOptions extends Required<
  Omit<MinioOptions, 'endpoint' | 'publicEndpoint' | 'uploadAccessKey' | 'uploadSecretKey'>
> {
  readonly endpoint: URL;
  readonly publicOrigin: string;
  readonly upload?: Credentials;
}

/** Throws `MinioRefused` for options that cannot work with any server. */
export function checkOptions(options: MinioOptions): CheckedOptions {
  const { region, bucket, accessKey, secretKey, timeoutMs = DEFAULT_TIMEOUT_MS, longestAddressMs = WEEK_MS } = options;
  const endpoint = readEndpoint(options.endpoint, region, 'endpoint');
  const publicOrigin = readEndpoint(options.publicEndpoint ?? options.endpoint, region, 'public endpoint').origin;
  need(REGION.test(region), 'The region of the object store must be a name such as us-east-1.');
  need(BUCKET.test(bucket), 'The bucket must be named by 3 to 63 lower-case letters, digits, dots and hyphens.');
  need(accessKey !== '' && secretKey !== '', 'The object store needs an access key and a secret key.');
  need(
    Number.isSafeInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS,
    `The object store's timeout must be 1 to ${MAX_TIMEOUT_MS} ms.`,
  );
  need(longestAddressMs >= 1 && longestAddressMs <= WEEK_MS, 'S3 signs addresses for seven days at most.');
  const keys = { accessKey, secretKey, ...uploadKeys(options) };
  return { endpoint, publicOrigin, region, bucket, ...keys, longestAddressMs, timeoutMs };
}

function uploadKeys({ uploadAccessKey: accessKey, uploadSecretKey: secretKey }: MinioOptions): {
  readonly upload?: Credentials;
} {
  if (accessKey === undefined && secretKey === undefined) return {};
  if (accessKey !== undefined && accessKey !== '' && secretKey !== undefined && secretKey !== '')
    return { upload: { accessKey, secretKey } };
  throw new MinioRefused('The object store needs both an upload access key and an upload secret key, or neither.');
}

/** The value is not repeated: a password in it would get into the log. */
function readEndpoint(text: string, region: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new MinioRefused(`The object store's ${name} must be an address such as http://127.0.0.1:9000.`);
  }
  const isBare =
    url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  need(
    isBare,
    `The object store's ${name} must be a scheme, a host and a port only: a path would be signed, and no server behind it would see that path.`,
  );
  const regionThere = SENT_ELSEWHERE[url.hostname];
  need(
    regionThere === undefined || regionThere === region,
    `The object store's ${name} must name the bucket's region, as https://s3.eu-central-1.amazonaws.com does: ${url.hostname} sends clients elsewhere.`,
  );
  return url;
}

function need(holds: boolean, message: string): void {
  if (!holds) throw new MinioRefused(message);
}

/** The keys that a request is signed with. */
export interface Credentials {
  readonly accessKey: string;
  readonly secretKey: string;
  /** The token of temporary keys, which are refused without it. */
  readonly sessionToken?: string;
}

/** Credentials that hold until then at least, in ms since the epoch. Throws `StoreUnavailable` when there are none. */
export type CredentialSource = (endsAt: number) => Promise<Credentials>;

/** The sources of the keys that sign the addresses of a store. */
export interface SigningCredentials {
  readonly put: CredentialSource;
  readonly get: CredentialSource;
}

export function lasting({ accessKey, secretKey }: Credentials): CredentialSource {
  const credentials = { accessKey, secretKey };
  return () => Promise.resolve(credentials);
}

/**
 * Thrown when a bucket cannot be used as it is configured; the message is one sentence fit for the operator, without
 * secrets.
 */
export class MinioRefused extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MinioRefused';
  }
}

/** The same for a missing bucket; `where` names it. */
export class BucketMissing extends MinioRefused {
  constructor(readonly where: string) {
    super(`There is no ${where}: make it with \`darkroom migrate\`.`);
  }
}
