import type { Scope } from '../../../core/access/credential.js';

/** What only services may be allowed: operators' work. */
export const OPERATOR_SCOPES = [
  'access:read',
  'access:write',
  'credits:write',
  'ledger:read',
  'operations:read',
  'operations:write',
  'content:read',
  'operators:write',
] as const;
export type ServiceScope = Scope | (typeof OPERATOR_SCOPES)[number];

/** An internal service that may call. */
export interface ServiceCaller {
  readonly name: string;
  readonly scopes: readonly ServiceScope[];
  /** When it may no more, in milliseconds since the epoch. */
  readonly expiresAt?: number;
  readonly isRevoked?: boolean;
  /** How many calls it may send in a minute to one process, from 1; as many as it likes where none is named. */
  readonly ratesPerMinute?: { readonly reads?: number; readonly writes?: number };
}

/** Which of a caller's rates a call that needs the scope counts against. */
export function rateOf(scope: ServiceScope): 'reads' | 'writes' {
  return /:(?:write|manage)$/.test(scope) ? 'writes' : 'reads';
}

/** What a call brought to say who it is from. */
export interface Presented {
  readonly token?: string | undefined;
  /**
   * Names that the certificate of a mutual TLS connection vouches for. A token that is sent decides, so that none are
   * asked for then.
   */
  readonly certificateNames: readonly string[];
}

/** Tells services apart. */
export interface ServiceCallers {
  find(presented: Presented): ServiceCaller | undefined;
}
