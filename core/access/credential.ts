import type { Actor, Cap } from '../credits/account.js';
import { ServiceError } from '../errors.js';

export const SCOPES = [
  'credits:read',
  'generations:read',
  'generations:write',
  'uploads:write',
  'webhooks:manage',
] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * The scopes of a credential unless others are requested by name. Managing webhooks is excluded, because it decides
 * where data is sent.
 */
export const DEFAULT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'webhooks:manage');

/** The interface a token is valid for: the REST API and gRPC, or the MCP server. An API key is valid for all. */
export const AUDIENCES = ['rest', 'mcp'] as const;
export type Audience = (typeof AUDIENCES)[number];

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
  /** The `secretHint` of its secret; absent for a key of a release that stored none. */
  readonly hint?: string;
  readonly scopes: readonly Scope[];
  /** Whole credits that the key may spend in each calendar month (UTC); absent for a key without a cap. */
  readonly monthlyCap?: number;
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  /** The beginning of the UTC day on which it was last used; absent for one that never was. */
  readonly lastUsedAt?: number;
}

/** The authenticated caller: one account, one App, and the credential's permissions. */
export interface Caller {
  readonly accountId: string;
  readonly appId: string;
  readonly credentialId: string;
  /** Set where a person or an internal service acts in the App; absent for the App's own keys and connections. */
  readonly actor?: Actor;
  readonly scopes: readonly Scope[];
  /** The credential's spending limit, in addition to the account's balance; absent for a credential without a cap. */
  readonly cap?: Cap;
  /** Set for a connected program: of the account's ledger and usage it sees what was used in its own App. */
  readonly seesOwnAppOnly?: true;
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BODY_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^svc_live_[0-9A-Za-z]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`);

const API_KEY_PREFIX = 'svc_live_';
export const API_KEY_BYTES = 32;

/**
 * Writes 32 random bytes as an API key: the prefix, 43 characters of base62, and a 6-character checksum, so that a
 * mistyped or truncated key is recognised without a read of the store.
 */
export function formatApiKey(random: Uint8Array): string {
  const body = base62(toBigInt(random), BODY_LENGTH);
  return API_KEY_PREFIX + body + checksum(body);
}

/** Whether the text could have come from `formatApiKey`. */
export function isApiKeyShaped(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const body = text.slice(API_KEY_PREFIX.length, -CHECKSUM_LENGTH);
  return checksum(body) === text.slice(-CHECKSUM_LENGTH);
}

/**
 * The prefix of a secret, the next three characters and the last four, `svc_live_7Kq…x9Fa`: enough for its owners to
 * recognise it, and the only part that is ever stored or shown again. The last four characters of an API key are of its
 * checksum, so over 200 bits of it remain unknown.
 */
export function secretHint(secret: string): string {
  const random = secret.lastIndexOf('_') + 1;
  return `${secret.slice(0, random + 3)}…${secret.slice(-4)}`;
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), CHECKSUM_LENGTH);
}

function toBigInt(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function base62(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = (ALPHABET[Number(rest % 62n)] ?? '') + text;
  return text;
}

/** CRC-32 (ISO-HDLC) of ASCII text. */
function crc32(text: string): number {
  let crc = 0xffff_ffff;
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}

/**
 * The refusal for a client of a suspended account, wherever it is detected: its key gives no access until the account
 * is resumed.
 */
export function accountSuspended(): ServiceError {
  return new ServiceError('DEVELOPER_TOKEN_REVOKED', 'The account is suspended.');
}

/** The refusal of an operator's change to an account that was erased. */
export function accountErased(accountId: string): ServiceError {
  return new ServiceError('CONFLICT', `Account ${accountId} was erased and cannot be used again; create another one.`);
}

export function scopeInsufficient(scope: Scope): ServiceError {
  return new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT', `The credential does not carry the scope ${scope}.`, {
    scope,
  });
}
