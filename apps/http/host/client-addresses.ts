import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { networkOf, Networks } from '../../config/network-address.js';

/** Tells clients apart by where they are, also behind proxies that the operator named. */
export class ClientAddresses {
  private readonly proxies: Networks;

  constructor(trustedProxies: readonly string[]) {
    this.proxies = new Networks(trustedProxies);
  }

  /** Whether a connection is that of a proxy, which brings the requests of many. */
  isProxy(peer: string | undefined): boolean {
    return peer !== undefined && this.proxies.has(peer);
  }

  /** The client of a connection, as `networkOf` has it. */
  ofPeer(peer: string | undefined): string {
    return networkOf(peer ?? '') ?? 'unknown';
  }

  /**
   * The client of a request: the peer, or, if that is a trusted proxy, the last address in X-Forwarded-For that is not
   * one. Any client can send the header, so entries before that address are ignored, and for an entry that is not an
   * address the peer counts.
   */
  ofRequest({ socket: { remoteAddress }, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    return this.ofPeer(
      this.isProxy(remoteAddress)
        ? (this.forwardedFor(String(headers['x-forwarded-for'] ?? '')) ?? remoteAddress)
        : remoteAddress,
    );
  }

  private forwardedFor(header: string): string | undefined {
    let client: string | undefined;
    for (let end = header.length; end >= 0;) {
      const comma = end === 0 ? -1 : header.lastIndexOf(',', end - 1);
      const address = header.slice(comma + 1, end).trim();
      if (isIP(address) === 0) return undefined;
      client = address;
      if (!this.proxies.has(address)) return client;
      end = comma;
    }
    return client;
  }
}
