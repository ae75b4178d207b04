import type { Cap } from '../credits/cap.js';

export const SCOPES = [
  'credits:read',
  'generations:read',
  'generations:write',
  'uploads:write',
  'webhooks:manage',
] as const;
export type Scope = (typeof SCOPES)[number];

/** What a credential may do unless more is asked for by name. Who manages webhooks decides where data is sent. */
export const DEFAULT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'webhooks:manage');

/** What a token is for: the REST API and gRPC, or the MCP server. An API key is for all. */
export type Audience = 'rest' | 'mcp';

export interface App {
  readonly appId: string;
  readonly accountId: string;
  readonly name: string;
  readonly createdAt: number;
}

/** An API key as it is stored: never the secret, only its keyed digest. */
export interface ApiKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly appId: string;
  readonly version: number;
  readonly name: string;
  readonly digest: string;
  readonly scopes: readonly Scope[];
  /** Whole credits that the key may spend in each calendar month (UTC); absent for a key without a cap. */
  readonly monthlyCap?: number;
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  /** The beginning of the UTC day on which it was last used; absent for one that never was. */
  readonly lastUsedAt?: number;
}

/** Who is calling: one account, one App, and what the credential may do. */
export interface Caller {
  readonly accountId: string;
  readonly appId: string;
  readonly credentialId: string;
  readonly scopes: readonly Scope[];
  /** What the credential may spend, besides what the account has; absent for one without a cap. */
  readonly cap?: Cap;
}
