import { AwsV4Signer } from 'aws4fetch';
import { StoreUnavailable } from '../../core/errors.js';
import type { Clock } from '../../core/ports/machine.js';
import {
  type CheckedOptions,
  type Credentials,
  type CredentialSource,
  lasting,
  MinioRefused,
  type SigningCredentials,
} from './minio-options.js';
import { obeysCopySource, refused, type SignProbe, takesUnsignedUploads, takesUploads } from './reach-bucket.js';
import { type S3Bucket, sendPlain } from './s3-bucket.js';
import { SignedAddresses } from './signed-addresses.js';

/**
 * The credentials that sign URLs: our own keys if the server holds clients to what was signed, otherwise keys that
 * are restricted to this one purpose. The server is tested rather than identified by its name. Throws `MinioRefused`
 * if no URL would be safe, and `StoreUnavailable`.
 */
export async function signingCredentials(
  s3: S3Bucket,
  options: CheckedOptions,
  clock: Pick<Clock, 'now'>,
): Promise<SigningCredentials> {
  try {
    return await new Choice(s3, options, clock).make();
  } catch (error) {
    throw refused(s3, error);
  }
}

const PROBE_MS = 60_000;
const UPLOADS = 'staging/';

class Choice {
  constructor(
    private readonly s3: S3Bucket,
    private readonly options: CheckedOptions,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async make(): Promise<SigningCredentials> {
    const own = lasting(this.options);
    const isObedient = await obeysCopySource(this.s3, this.probesWith(own));
    const isOpen = await takesUnsignedUploads(this.s3, this.probesWith(own));
    const get = isOpen ? await this.temporary({ action: 's3:GetObject', prefix: '' }, this.usersOnly()) : own;
    const put = await this.forUploads(isObedient || isOpen);
    return { get, put: put ?? own };
  }

  /** Lesser ones where they are given or needed. */
  private async forUploads(areNeeded: boolean): Promise<CredentialSource | undefined> {
    const { upload } = this.options;
    if (upload === undefined && !areNeeded) return undefined;
    const source =
      upload === undefined
        ? await this.temporary({ action: 's3:PutObject', prefix: UPLOADS }, this.uploadKeysNeeded())
        : lasting(upload);
    const signs = this.probesWith(source);
    const which = upload === undefined ? 'temporary keys of' : 'minio.upload_access_key for';
    if (!(await takesUploads(this.s3, signs))) {
      throw new MinioRefused(
        `The ${which} ${this.s3.where} cannot be used: they must be allowed s3:PutObject on ${this.s3.name}/${UPLOADS}*.`,
      );
    }
    if (await obeysCopySource(this.s3, signs)) {
      throw new MinioRefused(
        `The ${which} ${this.s3.where} are allowed too much: they must be allowed s3:PutObject on ${this.s3.name}/${UPLOADS}* and to read nothing, because clients can make this store copy any object that these keys may read.`,
      );
    }
    return source;
  }

  private async temporary(grant: Grant, wayOut: string): Promise<CredentialSource> {
    const temporary = new TemporaryCredentials(this.s3, this.options, grant);
    try {
      await temporary.until(this.clock.now() + this.options.longestAddressMs);
    } catch (error) {
      if (error instanceof TemporaryCredentialsRefused)
        throw new MinioRefused(`${wayOut} (temporary keys: ${error.why}).`, error);
      throw error;
    }
    return (endsAt) => temporary.until(endsAt);
  }

  private uploadKeysNeeded(): string {
    return `The object store lets a client with an upload address in ${this.s3.where} copy any object there, and issues no temporary keys that prevent it: set minio.upload_access_key and minio.upload_secret_key to a user that is allowed s3:PutObject on ${this.s3.name}/${UPLOADS}* and nothing else`;
  }

  private usersOnly(): string {
    return `The object store accepts unsigned uploads to ${this.s3.where} from any client that knows an access key, and issues no temporary keys to sign addresses with: set minio.access_key and minio.secret_key to a user's own, not to those of a service account, or reconfigure the store`;
  }

  /** At the address where we reach the store. */
  private probesWith(source: CredentialSource): SignProbe {
    const { endpoint, bucket, region } = this.options;
    const addresses = new SignedAddresses({ publicOrigin: endpoint.origin, bucket, region }, this.clock, () =>
      Promise.resolve({ put: source, get: source }),
    );
    const target = { mediaType: 'application/octet-stream', byteSize: 0 };
    return async (key) => addresses.put({ ...target, key, expiresAt: this.clock.now() + PROBE_MS });
  }
}

/** The one thing that temporary credentials may do. */
export interface Grant {
  readonly action: 's3:PutObject' | 's3:GetObject';
  /** The prefix of the keys in the bucket. */
  readonly prefix: string;
}

/** The store has no temporary credentials for us, or none that live long enough. */
class TemporaryCredentialsRefused extends StoreUnavailable {
  constructor(
    s3: S3Bucket,
    readonly why: string,
  ) {
    super(`The object store's ${s3.where} gives no temporary keys (${why}).`);
  }
}

interface Temporary extends Credentials {
  readonly endsAt: number;
}

/** More than the store's clock may be behind ours. */
const MARGIN_SECONDS = 15 * 60;
/** A shorter lifetime is not worth a request. */
const MIN_SECONDS = 60 * 60;

/**
 * Temporary, restricted credentials of the store (AssumeRole of STS, at the store's own address). They are requested
 * for twice the longest lifetime of an address, kept while they outlive the addresses they sign, and requested again
 * after that, once for all waiting callers. Both ends are times on the store's clock, so ours does not matter there.
 */
class TemporaryCredentials {
  private current: Temporary | undefined;
  private renewal: Promise<Temporary> | undefined;

  constructor(
    private readonly s3: S3Bucket,
    private readonly options: CheckedOptions,
    private readonly grant: Grant,
  ) {}

  /** Throws `StoreUnavailable`, of the kind above when the store refuses. */
  async until(endsAt: number): Promise<Credentials> {
    if (this.current !== undefined && this.current.endsAt >= endsAt) return this.current;
    this.renewal ??= this.ask().finally(() => {
      this.renewal = undefined;
    });
    const renewed = await this.renewal;
    if (this.current === undefined || this.current.endsAt < renewed.endsAt) this.current = renewed;
    if (renewed.endsAt < endsAt) throw new TemporaryCredentialsRefused(this.s3, 'they expire before the address would');
    return renewed;
  }

  private async ask(): Promise<Temporary> {
    const { endpoint, region, accessKey, secretKey, longestAddressMs } = this.options;
    const seconds = Math.max(MIN_SECONDS, 2 * Math.ceil(longestAddressMs / 1000)) + MARGIN_SECONDS;
    const form = {
      Action: 'AssumeRole',
      Version: '2011-06-15',
      DurationSeconds: String(seconds),
      Policy: this.policy(),
    };
    const body = new URLSearchParams(form).toString();
    const signer = new AwsV4Signer({
      method: 'POST',
      url: `${endpoint.origin}/`,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body,
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      service: 'sts',
      region,
    });
    const { headers } = await signer.sign();
    const { status, text } = await sendPlain(this.s3, {
      url: `${endpoint.origin}/`,
      method: 'POST',
      headers: Object.fromEntries(headers),
      body,
    });
    if (status !== 200) throw new TemporaryCredentialsRefused(this.s3, valueIn(text, 'Code') ?? String(status));
    return this.read(text);
  }

  private policy(): string {
    const resource = `arn:aws:s3:::${this.s3.name}/${this.grant.prefix}*`;
    return JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: [this.grant.action], Resource: [resource] }],
    });
  }

  private read(text: string): Temporary {
    const accessKey = valueIn(text, 'AccessKeyId');
    const secretKey = valueIn(text, 'SecretAccessKey');
    const sessionToken = valueIn(text, 'SessionToken');
    const endsAt = Date.parse(valueIn(text, 'Expiration') ?? '');
    if (accessKey === undefined || secretKey === undefined || sessionToken === undefined || Number.isNaN(endsAt)) {
      throw new TemporaryCredentialsRefused(this.s3, 'its answer has none');
    }
    return { accessKey, secretKey, sessionToken, endsAt };
  }
}

/** Keys, tokens and times need no escapes in XML; what has one is none of them. */
function valueIn(text: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<&]+)</${name}>`).exec(text)?.[1];
}
