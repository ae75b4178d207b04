import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { ServiceError } from '../../../core/errors.js';
import type { ClientAddresses } from '../host/client-addresses.js';

/**
 * Refuses what a page of another origin makes a browser send, and what a browser sends to a name that was bound to this
 * machine's address after its page had loaded. A program sends no Origin. A trusted proxy may name this process as it
 * likes. Throws ORIGIN_REFUSED.
 */
export function requireKnownOrigin(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  publicUrl: string,
  addresses: Pick<ClientAddresses, 'isProxy'>,
): void {
  const own = new URL(publicUrl);
  const { origin, host = '' } = headers;
  if (origin !== undefined && origin !== own.origin)
    throw new ServiceError('ORIGIN_REFUSED', `The MCP server is for programs, and for pages of ${own.origin} only.`);
  if (addresses.isProxy(socket.remoteAddress) || isOwnHost(host, own.hostname)) return;
  throw new ServiceError(
    'ORIGIN_REFUSED',
    'The MCP server does not go by this name; use its public address, which the operator sets with rest.public_url.',
  );
}

/** An address in place of a name cannot have been bound to anything else. */
function isOwnHost(host: string, own: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return hostname === own || hostname === 'localhost' || isIP(hostname.replaceAll(/[[\]]/g, '')) > 0;
}
