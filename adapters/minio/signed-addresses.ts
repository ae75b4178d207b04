import { AwsV4Signer } from 'aws4fetch';
import { assertMediaType, assertObjectKey, inlineDisposition } from '../../core/object-keys.js';
import type { Clock } from '../../core/ports/machine.js';
import type { ObjectStore, SignedRequest } from '../../core/ports/object-store.js';
import type { CheckedOptions, CredentialSource, SigningCredentials } from './minio-options.js';

/** The longest that S3 lets a signature live. */
const MAX_SECONDS = 7 * 24 * 60 * 60;
/**
 * The longest expiry, set by another process, is further away on a clock that is behind that process's; the address
 * then ends as much earlier.
 */
const SKEW_SECONDS = 300;

/**
 * Signs addresses at the public endpoint, with every header and parameter in the signature (AWS Signature Version 4).
 */
export class SignedAddresses {
  private keys: { readonly day: number; readonly derived: Map<string, ArrayBuffer> } = { day: 0, derived: new Map() };

  constructor(
    private readonly place: Pick<CheckedOptions, 'publicOrigin' | 'bucket' | 'region'>,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly credentials: () => Promise<SigningCredentials>,
  ) {}

  /**
   * The length is signed, but not among the headers: HTTP clients set Content-Length themselves and many forbid setting
   * it.
   */
  async put({
    key,
    mediaType,
    byteSize,
    sha256,
    expiresAt,
  }: Parameters<ObjectStore['signPut']>[0]): Promise<SignedRequest> {
    assertMediaType(mediaType);
    if (!Number.isSafeInteger(byteSize) || byteSize < 0)
      throw new RangeError('A byte size is a whole number, not below zero.');
    const headers = {
      'Content-Type': mediaType,
      ...(sha256 === undefined ? {} : { 'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64') }),
    };
    return {
      url: await this.sign('PUT', key, expiresAt, {}, { ...headers, 'Content-Length': String(byteSize) }),
      method: 'PUT',
      headers,
    };
  }

  async get({ key, mediaType, filename, expiresAt }: Parameters<ObjectStore['signGet']>[0]): Promise<SignedRequest> {
    assertMediaType(mediaType);
    const query = { 'response-content-type': mediaType, 'response-content-disposition': inlineDisposition(filename) };
    return { url: await this.sign('GET', key, expiresAt, query, {}), method: 'GET', headers: {} };
  }

  private async sign(
    method: 'PUT' | 'GET',
    key: string,
    expiresAt: number,
    query: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>,
  ): Promise<string> {
    assertObjectKey(key);
    const { publicOrigin, bucket, region } = this.place;
    const { signedAt, seconds } = this.lifetime(expiresAt);
    // An address ends with what it was signed with.
    const { accessKey, secretKey, sessionToken } = await (await this.sourceFor(method))((signedAt + seconds) * 1000);
    const parameters = new URLSearchParams({ ...query, 'X-Amz-Expires': String(seconds) });
    const signer = new AwsV4Signer({
      method,
      url: `${publicOrigin}/${bucket}/${key}?${parameters.toString()}`,
      headers,
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: 's3',
      region,
      datetime: new Date(signedAt * 1000).toISOString().replace(/[:-]|\.\d{3}/g, ''),
      signQuery: true,
      allHeaders: true,
      cache: this.keysOf(signedAt),
    });
    const { url } = await signer.sign();
    // A space is "+" to forms and "%20" to the signature; a plus sign itself is neither.
    url.search = url.search.replaceAll('+', '%20');
    return url.toString();
  }

  private async sourceFor(method: 'PUT' | 'GET'): Promise<CredentialSource> {
    const { put, get } = await this.credentials();
    return method === 'PUT' ? put : get;
  }

  /** The signing keys of a day, which are derived from the secret in four steps. */
  private keysOf(signedAt: number): Map<string, ArrayBuffer> {
    const day = Math.floor(signedAt / 86_400);
    if (day !== this.keys.day) this.keys = { day, derived: new Map() };
    return this.keys.derived;
  }

  /**
   * S3 counts whole seconds from the signing; they are rounded down, so that no address outlives its expiry. An expired
   * one is signed as expired.
   */
  private lifetime(expiresAt: number): { readonly signedAt: number; readonly seconds: number } {
    if (!Number.isSafeInteger(expiresAt)) throw new RangeError('An expiry is whole milliseconds since the epoch.');
    const end = Math.floor(expiresAt / 1000);
    const signedAt = Math.min(Math.floor(this.clock.now() / 1000), end - 1);
    if (end - signedAt > MAX_SECONDS + SKEW_SECONDS)
      throw new RangeError(`S3 signs for at most ${MAX_SECONDS} seconds.`);
    return { signedAt, seconds: Math.min(end - signedAt, MAX_SECONDS) };
  }
}
