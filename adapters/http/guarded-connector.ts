import { lookup as systemLookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { AddressRefused, requireAllowed } from './address-rules.js';
import { readHostname, type AllowList } from './allow-list.js';
import { literalAddress, type Target } from './target.js';

/** A host's addresses, as `dns.lookup` gives them. */
export type Resolver = (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export interface ConnectorOptions {
  readonly allow: AllowList;
  readonly connectTimeoutMs: number;
  /** Trusted in addition to the machine's certificate authorities; undefined for only those. */
  readonly ca: readonly string[] | undefined;
  readonly resolve: Resolver | undefined;
}

/**
 * Makes connections to allowed addresses only. A name is resolved once for each connection, all its addresses are
 * checked, and the connection is made to one of these: what the name leads to a moment later does not matter.
 * Certificates are always verified.
 */
export function guardedConnector({
  allow,
  connectTimeoutMs,
  ca,
  resolve = resolveBySystem,
}: ConnectorOptions): buildConnector.connector {
  return (options, callback) => {
    const target = targetOf(options);
    try {
      const literal = literalAddress(target.hostname);
      if (literal !== undefined) requireAllowed(allow, target, [literal]);
    } catch (error) {
      return callback(error as Error, null);
    }
    const connect = buildConnector({
      timeout: connectTimeoutMs,
      rejectUnauthorized: true,
      autoSelectFamily: true,
      lookup: guardedLookup(allow, target, resolve),
      ...(ca === undefined ? {} : { ca: [...ca] }),
    });
    connect({ ...options, hostname: target.hostname }, (error, socket) => {
      if (error !== null) return callback(error, null);
      const { remoteAddress } = socket;
      if (remoteAddress === undefined) {
        socket.destroy();
        return callback(Object.assign(new Error('The peer has reset the connection.'), { code: 'ECONNRESET' }), null);
      }
      try {
        requireAllowed(allow, target, [ipaddr.parse(remoteAddress)]);
      } catch {
        socket.destroy();
        return callback(
          new AddressRefused('the connection goes to another address than the one that was checked'),
          null,
        );
      }
      callback(null, socket);
    });
  };
}

function targetOf({
  protocol,
  hostname,
  port,
}: buildConnector.Options): Pick<Target, 'protocol' | 'hostname' | 'port'> {
  const isTls = protocol === 'https:';
  return {
    protocol: isTls ? 'https:' : 'http:',
    hostname: literalAddress(hostname) ? hostname : (readHostname(hostname) ?? ''),
    port: port === '' ? (isTls ? '443' : '80') : port,
  };
}

/** It always answers with a list, as callers expect that choose between IPv6 and IPv4. */
function guardedLookup(
  allow: AllowList,
  target: Pick<Target, 'protocol' | 'hostname' | 'port'>,
  resolve: Resolver,
): LookupFunction {
  return (hostname, { all }, callback) => {
    const answer = async () => {
      const found = await resolve(hostname);
      if (found.length === 0) throw Object.assign(new Error('The name has no address.'), { code: 'ENOTFOUND' });
      requireAllowed(
        allow,
        target,
        found.map(({ address }) => parsed(address)),
      );
      return found.map(({ address, family }) => ({ address, family }));
    };
    callbackify(answer)((error, found) => {
      if (error) callback(error, '');
      else if (all === true) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family);
    });
  };
}

function parsed(address: string): ipaddr.IPv4 | ipaddr.IPv6 {
  if (!ipaddr.isValid(address)) throw new AddressRefused('the name resolves to something other than an address');
  return ipaddr.parse(address);
}

function resolveBySystem(hostname: string): ReturnType<Resolver> {
  return systemLookup(hostname, { all: true, order: 'verbatim' });
}
