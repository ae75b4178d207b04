import type { Clock } from '../../core/ports/clock.js';
import { lasting } from './credentials.js';
import type { CredentialSource, SigningCredentials } from './credentials.js';
import type { CheckedOptions } from './minio-options.js';
import { MinioRefused } from './minio-refused.js';
import { obeysCopySource, takesUnsignedUploads, takesUploads } from './probe-store.js';
import type { SignProbe } from './probe-store.js';
import { refused } from './reach-bucket.js';
import type { S3Bucket } from './s3-bucket.js';
import { SignedAddresses } from './signed-addresses.js';
import { TemporaryCredentials, TemporaryCredentialsRefused } from './temporary-credentials.js';
import type { Grant } from './temporary-credentials.js';

const PROBE_MS = 60_000;
const UPLOADS = 'staging/';

/**
 * What addresses are signed with: our own keys where the server holds clients to what was signed, and keys that may do
 * nothing else where it does not. The server is tried, not believed by its name. Throws `MinioRefused` when no address
 * would be safe, and `StoreUnavailable`.
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
