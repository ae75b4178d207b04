import { AwsV4Signer } from 'aws4fetch';
import { StoreUnavailable } from '../../core/errors.js';
import type { Credentials } from './credentials.js';
import type { CheckedOptions } from './minio-options.js';
import { sendPlain } from './plain-request.js';
import type { S3Bucket } from './s3-bucket.js';

/** The one thing that temporary credentials may do. */
export interface Grant {
  readonly action: 's3:PutObject' | 's3:GetObject';
  /** Of the bucket: where keys begin. */
  readonly prefix: string;
}

/** The store has no temporary credentials for us, or none that live long enough. */
export class TemporaryCredentialsRefused extends StoreUnavailable {
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

/** What the store's clock may be behind ours, and more. */
const MARGIN_SECONDS = 15 * 60;
/** Shorter ones are not worth asking for. */
const MIN_SECONDS = 60 * 60;

/**
 * Temporary, restricted credentials of the store (AssumeRole of STS, at the store's own address). They are requested
 * for twice the longest lifetime of an address, kept while they outlive the addresses they sign, and requested again
 * after that, once for all waiting callers. Both ends are times on the store's clock, so ours does not matter there.
 */
export class TemporaryCredentials {
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
