import type { Clock } from '../../core/ports/machine.js';
import type { ObjectStore, SignedRequest } from '../../core/ports/object-store.js';

export type PutTarget = Parameters<ObjectStore['signPut']>[0];
export type GetTarget = Parameters<ObjectStore['signGet']>[0];

export type Grant =
  | { readonly method: 'PUT'; readonly target: PutTarget; readonly headers: Readonly<Record<string, string>> }
  | { readonly method: 'GET'; readonly target: GetTarget; readonly headers: Readonly<Record<string, string>> };

/**
 * What was signed, by its address. Within one memory nothing needs a signature: an address that was not handed out is
 * not known. Expired grants are dropped when new ones are made.
 */
export class MemoryGrants {
  private readonly grants = new Map<string, Grant>();
  private granted = 0;

  constructor(private readonly clock: Clock) {}

  put(target: PutTarget): SignedRequest {
    const headers = {
      'Content-Type': target.mediaType,
      'Content-Length': String(target.byteSize),
      ...(target.sha256 === undefined
        ? {}
        : { 'x-amz-checksum-sha256': Buffer.from(target.sha256, 'hex').toString('base64') }),
    };
    return this.grant({ method: 'PUT', target: { ...target }, headers });
  }

  get(target: GetTarget): SignedRequest {
    return this.grant({ method: 'GET', target: { ...target }, headers: {} });
  }

  /** The grant at this address while it is valid. */
  find(url: string): Grant | undefined {
    const grant = this.grants.get(url);
    return grant !== undefined && this.clock.now() < grant.target.expiresAt ? grant : undefined;
  }

  private grant(grant: Grant): SignedRequest {
    for (const [url, { target }] of this.grants) {
      if (target.expiresAt > this.clock.now()) break;
      this.grants.delete(url);
    }
    this.granted += 1;
    const url = `memory://objects/${grant.target.key}?grant=${this.granted}`;
    this.grants.set(url, grant);
    return { url, method: grant.method, headers: { ...grant.headers } };
  }
}
