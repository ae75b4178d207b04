import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import type { Audience } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';

export interface AuthorizationServerOptions {
  readonly context: Context;
  readonly logger: Logger;
  /** The issuer: the public address, without a path. */
  readonly publicUrl: () => string;
  /** The resources that tokens are given out for. */
  readonly audiences: readonly Audience[];
  /** Where a request comes from, as its rates count it. */
  readonly addressOf: (req: IncomingMessage) => string;
  /** Fetches a client's metadata document; absent where an operator allows none. */
  readonly fetchClientDocument?: ClientDocumentFetch | undefined;
}

export interface ClientDocumentFetch {
  /** Whether the document may be asked for at all, for a request from this address. */
  readonly allows: (url: string, address: string) => Promise<boolean>;
  readonly fetch: (url: string) => Promise<Response>;
}
