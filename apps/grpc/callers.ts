import type { Metadata, ServerUnaryCall } from '@grpc/grpc-js';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { LocatedYaml } from '../../adapters/catalog-file/located-yaml.js';
import { AjvJsonSchemas } from '../../adapters/system/ajv-json-schemas.js';
import { CREDENTIAL_CACHE_MS } from '../../core/access/authenticate.js';
import { type Caller, isApiKeyShaped, type Scope, SCOPES } from '../../core/access/credential.js';
import type { Identity, Machine, Money } from '../../core/context.js';
import { ServiceError } from '../../core/errors.js';
import { isUuid } from '../../core/ids.js';
import type { JsonObject } from '../../core/json.js';
import type { Clock } from '../../core/ports/machine.js';
import { ConfigInvalid } from '../config/config.js';
import { pointsOf, RateLimit, sizeNote } from '../rate-limit.js';
import { WatchedFiles } from './certificates.js';

/** Scopes that only services may have, for operators' work. */
export const OPERATOR_SCOPES = [
  'access:read',
  'access:write',
  'credits:write',
  'ledger:read',
  'operations:read',
  'operations:write',
  'content:read',
  'operators:write',
  'erasure:write',
] as const;
export type ServiceScope = Scope | (typeof OPERATOR_SCOPES)[number];

/** An internal service that may call. */
export interface ServiceCaller {
  readonly name: string;
  readonly scopes: readonly ServiceScope[];
  /** The time when its access ends, in milliseconds since the epoch. */
  readonly expiresAt?: number;
  readonly isRevoked?: boolean;
  /** The number of calls per minute that it may send to one process, at least 1; unlimited if absent. */
  readonly ratesPerMinute?: { readonly reads?: number; readonly writes?: number };
}

/** The rate limit of a caller that applies to a call with this scope. */
export function rateOf(scope: ServiceScope): 'reads' | 'writes' {
  return /:(?:write|manage)$/.test(scope) ? 'writes' : 'reads';
}

/** The credentials that a call presents. */
export interface Presented {
  readonly token?: string | undefined;
  /**
   * Names that the certificate of a mutual TLS connection vouches for. If a token is sent, it decides, and no names
   * are requested.
   */
  readonly certificateNames: readonly string[];
}

/** Identifies services. */
export interface ServiceCallers {
  find(presented: Presented): ServiceCaller | undefined;
}

/** A file of callers that cannot be used. The message has every fault on a separate line. */
export class CallersInvalid extends ConfigInvalid {
  override readonly name = 'CallersInvalid';
}

/** A URI, which has a colon, or a DNS name, which has none and no wildcard. */
const CERTIFICATE_NAME = '^(?:[A-Za-z][A-Za-z0-9+.-]*:[\\x21-\\x7e]+|[A-Za-z0-9._-]+)$';

const RATE = { type: 'integer', minimum: 1, maximum: 10_000_000 } as const;

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['callers'],
  properties: {
    callers: {
      type: 'array',
      maxItems: 1_000,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['name', 'scopes'],
        properties: {
          name: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,63}$' },
          token_sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
          certificate: { type: 'string', maxLength: 255, pattern: CERTIFICATE_NAME },
          scopes: {
            type: 'array',
            minItems: 1,
            uniqueItems: true,
            items: { type: 'string', enum: [...SCOPES, ...OPERATOR_SCOPES] },
          },
          expires_at: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$' },
          revoked: { type: 'boolean' },
          rates_per_minute: { type: 'object', additionalProperties: false, properties: { reads: RATE, writes: RATE } },
        },
      },
    },
  },
} as const satisfies JsonObject;

/** Descriptions of the patterns, for people who do not read regular expressions. */
const FORMS: Readonly<Record<string, string>> = {
  '': 'The file must have callers: and below it a list.',
  'name': 'name must have 1 to 64 small letters, digits and hyphens, and begin with no hyphen.',
  'token_sha256': 'token_sha256 must be 64 hexadecimal digits in lower case, without what sha256sum writes after them.',
  'certificate': 'certificate must be a URI or a DNS name, with no wildcard.',
  'expires_at': 'expires_at must be a time such as 2030-01-31T12:00:00Z.',
};

interface Entry {
  readonly name: string;
  readonly token_sha256?: string;
  readonly certificate?: string;
  readonly scopes: readonly ServiceScope[];
  readonly expires_at?: string;
  readonly revoked?: boolean;
  readonly rates_per_minute?: NonNullable<ServiceCaller['ratesPerMinute']>;
}

/**
 * The services in an operator's file: it has only the SHA-256 of a token, so that reading the file does not permit
 * calls.
 */
export class CallersFile implements ServiceCallers {
  private readonly byToken = new Map<string, ServiceCaller>();
  private readonly byCertificate = new Map<string, ServiceCaller>();

  /** Throws `CallersInvalid` with every fault of the text. `file` is its name in the faults. */
  constructor(text: string, file: string) {
    const yaml = new LocatedYaml(text);
    const at = (pointer: string, sentence: string): string => `${file}:${yaml.lineOf(pointer)}: ${sentence}`;
    if (yaml.faults.length > 0)
      throw new CallersInvalid(yaml.faults.map(({ line, message }) => `${file}:${line}: ${message}`));
    const { faults } = new AjvJsonSchemas().check(SCHEMA, yaml.value);
    if (faults.length > 0)
      throw new CallersInvalid(
        faults.map(({ pointer, message }) => at(pointer, FORMS[pointer.split('/').at(-1) ?? ''] ?? message)),
      );
    const { callers } = yaml.value as unknown as { readonly callers: readonly Entry[] };
    const wrong = callers.flatMap((entry, index) => {
      const fault = this.add(entry);
      return fault === undefined ? [] : [at(`/callers/${index}`, fault)];
    });
    if (wrong.length > 0) throw new CallersInvalid(wrong);
  }

  get size(): number {
    return this.byToken.size + this.byCertificate.size;
  }

  find({ token, certificateNames }: Presented): ServiceCaller | undefined {
    // A token that is sent decides: a certificate may be that of a proxy in between.
    if (token !== undefined) return this.byToken.get(digestOf(token));
    const [named, ...others] = new Set(certificateNames.flatMap((name) => this.byCertificate.get(name) ?? []));
    // Two would be ambiguous: one may be revoked, or may have fewer rights.
    return others.length === 0 ? named : undefined;
  }

  private add({
    name,
    token_sha256: digest,
    certificate,
    scopes,
    expires_at: expires,
    revoked,
    rates_per_minute: ratesPerMinute,
  }: Entry): string | undefined {
    if ((digest === undefined) === (certificate === undefined))
      return `Caller ${name} must have either token_sha256 or certificate.`;
    const expiresAt = expires === undefined ? undefined : Date.parse(expires);
    if (Number.isNaN(expiresAt)) return `The expires_at of caller ${name} is no time such as 2030-01-31T12:00:00Z.`;
    const caller: ServiceCaller = {
      name,
      scopes,
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(revoked === undefined ? {} : { isRevoked: revoked }),
      ...(ratesPerMinute === undefined ? {} : { ratesPerMinute }),
    };
    const [known, key] =
      digest === undefined ? [this.byCertificate, comparable(certificate ?? '')] : [this.byToken, digest];
    const other = known.get(key);
    if (other !== undefined) return `Caller ${name} has the token or certificate of ${other.name}.`;
    known.set(key, caller);
    return undefined;
  }
}

/** Only DNS names are case-insensitive. */
function comparable(certificateName: string): string {
  return certificateName.includes(':') ? certificateName : certificateName.toLowerCase();
}

/** The digest of a token in the file. Tokens are random and long, so they need neither a salt nor a slow digest. */
export function digestOf(token: string): string {
  return hash('sha256', token, 'hex');
}

/**
 * The callers of a file that may change, so that a removed or revoked service is refused soon. A change that is
 * invalid or cannot be read has no effect, and is reported once.
 */
export class WatchedCallers implements ServiceCallers {
  private readonly files: WatchedFiles;
  private current: CallersFile;

  /** Throws `CallersInvalid`, and what the system says of a file that cannot be read. */
  constructor(path: string, logger: Logger, everyMs?: number) {
    this.files = new WatchedFiles([path], {
      take: () => {
        this.current = read(path);
        logger.info({ callers: this.current.size }, 'callers read');
      },
      refuse: (faults) => logger.warn({ faults }, 'callers not read'),
    });
    this.current = read(path);
    this.files.start(everyMs);
  }

  find(presented: Presented): ServiceCaller | undefined {
    return this.current.find(presented);
  }

  close(): void {
    this.files.close();
  }

  /** At once, whether the file has changed or not. */
  readAgain(): void {
    this.files.readNow();
  }
}

function read(path: string): CallersFile {
  return new CallersFile(readFileSync(path, 'utf8'), path);
}

const ACCOUNT = 'darkroom-account-id';
export const APP_KEY = 'darkroom-app-id';
const MAX_KNOWN = 10_000;

/** For whom services act. One a process: an App never changes, so each is read once. */
export class ActingFor {
  private readonly accountsByApp = new Map<string, string>();
  /** When accounts that are not erased were read. */
  private readonly readAt = new Map<string, number>();

  constructor(
    private readonly context: Pick<Identity, 'credentials'> & Pick<Money, 'accounts'> & Pick<Machine, 'clock'>,
  ) {}

  /**
   * The account and App that a service acts for: there is no default. Throws FIELD_REQUIRED without both ids in the
   * metadata, FIELD_INVALID for a malformed id, and NOT_FOUND for an App that the account does not have, and within 5
   * seconds for an account that was erased.
   */
  async caller(service: ServiceCaller, metadata: Metadata): Promise<Caller> {
    const [accountId, appId] = [readId(metadata, ACCOUNT), readId(metadata, APP_KEY)];
    if ((await this.accountOf(appId)) !== accountId)
      throw new ServiceError('NOT_FOUND', `Account ${accountId} has no App ${appId}.`);
    await this.requireNotErased(accountId);
    return {
      accountId,
      appId,
      credentialId: `service:${service.name}`,
      actor: 'service',
      scopes: SCOPES.filter((scope) => service.scopes.includes(scope)),
    };
  }

  private async accountOf(appId: string): Promise<string | undefined> {
    const known = this.accountsByApp.get(appId);
    if (known !== undefined) return known;
    const accountId = (await this.context.credentials.readApp(appId))?.accountId;
    if (accountId === undefined) return undefined;
    if (this.accountsByApp.size >= MAX_KNOWN) this.accountsByApp.clear();
    this.accountsByApp.set(appId, accountId);
    return accountId;
  }

  private async requireNotErased(accountId: string): Promise<void> {
    const { accounts, clock } = this.context;
    const now = clock.now();
    const readAt = this.readAt.get(accountId);
    if (readAt !== undefined && now >= readAt && now - readAt < CREDENTIAL_CACHE_MS) return;
    this.readAt.delete(accountId);
    const account = await accounts.read(accountId, undefined, 'totals');
    if (account?.erasedAt !== undefined) throw new ServiceError('NOT_FOUND', `Account ${accountId} was erased.`);
    if (this.readAt.size >= MAX_KNOWN) this.readAt.clear();
    this.readAt.set(accountId, now);
  }
}

function readId(metadata: Metadata, name: string): string {
  const [value, ...others] = metadata.get(name);
  if (value === undefined)
    throw new ServiceError('FIELD_REQUIRED', `Name the account or App with ${name} in the metadata.`);
  if (others.length > 0 || typeof value !== 'string' || !isUuid(value))
    throw new ServiceError('FIELD_INVALID', `${name} must be one UUID.`);
  return value.toLowerCase();
}

const BEARER = /^bearer +(?<token>[\x21-\x7e]+)$/i;

type Presenting = Pick<ServerUnaryCall<unknown, unknown>, 'metadata' | 'getAuthContext'>;

/** The service that a call is from, and that may call now. Throws as `identify` and `requireCurrent` do. */
export function authenticate(callers: ServiceCallers, clock: Pick<Clock, 'now'>, call: Presenting): ServiceCaller {
  const caller = identify(callers, call);
  requireCurrent(caller, clock);
  return caller;
}

/** Throws DEVELOPER_TOKEN_EXPIRED and DEVELOPER_TOKEN_REVOKED. */
export function requireCurrent({ expiresAt, isRevoked }: ServiceCaller, clock: Pick<Clock, 'now'>): void {
  if (expiresAt !== undefined && expiresAt <= clock.now()) throw new ServiceError('DEVELOPER_TOKEN_EXPIRED');
  if (isRevoked) throw new ServiceError('DEVELOPER_TOKEN_REVOKED');
}

/**
 * The service that a call is from. Throws DEVELOPER_TOKEN_REQUIRED for one that brings nothing, and
 * DEVELOPER_TOKEN_INVALID.
 */
export function identify(callers: ServiceCallers, call: Presenting): ServiceCaller {
  const token = readToken(call.metadata.get('authorization'));
  const certificateNames =
    token === undefined ? certificateNamesOf(call.getAuthContext().sslPeerCertificate?.subjectaltname) : [];
  const caller = callers.find({ token, certificateNames });
  if (caller === undefined) {
    if (token !== undefined)
      throw new ServiceError(
        'DEVELOPER_TOKEN_INVALID',
        isApiKeyShaped(token) ? 'API keys are for REST; send the token of a service.' : undefined,
      );
    if (certificateNames.length > 0)
      throw new ServiceError(
        'DEVELOPER_TOKEN_INVALID',
        'The client certificate names none of the services that may call, or more than one.',
      );
    throw new ServiceError(
      'DEVELOPER_TOKEN_REQUIRED',
      'Send a service token as authorization: Bearer <token>, or a client certificate with a URI or DNS name.',
    );
  }
  return caller;
}

/** Throws DEVELOPER_SCOPE_INSUFFICIENT when the service lacks the scope. */
export function requireServiceScope(service: ServiceCaller, scope: ServiceScope): void {
  if (!service.scopes.includes(scope)) {
    throw new ServiceError(
      'DEVELOPER_SCOPE_INSUFFICIENT',
      `The service ${service.name} does not have the scope ${scope}.`,
    );
  }
}

/**
 * Sent twice, it is ambiguous; and an invalid token must not fall back to a certificate, which may be that of a proxy
 * in between.
 */
function readToken(values: readonly (string | Buffer)[]): string | undefined {
  const [value, ...others] = values;
  if (value === undefined) return undefined;
  if (others.length > 0) throw new ServiceError('DEVELOPER_TOKEN_INVALID', 'authorization must be sent once.');
  const token = BEARER.exec(String(value))?.groups?.['token'];
  if (token === undefined) throw new ServiceError('DEVELOPER_TOKEN_INVALID', 'authorization must be Bearer <token>.');
  return token;
}

/**
 * The URIs and DNS names of `URI:spiffe://example/studio, DNS:studio`, in Node's format for a certificate: only the
 * names that the authority issued as such, and not the common name. Node quotes names with characters that no valid
 * name contains. A URI contains a colon and a DNS name does not, so neither can be mistaken for the other.
 */
export function certificateNamesOf(subjectAltName: string | undefined): string[] {
  return (subjectAltName ?? '').split(', ').flatMap((entry) => {
    const { uri, dns } = /^(?:URI:(?<uri>[^":]+:[^"]+)|DNS:(?<dns>[^":]+))$/.exec(entry)?.groups ?? {};
    return uri ?? dns?.toLowerCase() ?? [];
  });
}

/** The rates at which services may call this process, as set by the operator. */
export class CallerRates {
  private readonly limits = new Map<string, RateLimit>();

  /** Counts a call that needs the scope and whose request had that many bytes. Throws RATE_LIMITED. */
  async take({ name, ratesPerMinute = {} }: ServiceCaller, scope: ServiceScope, byteSize: number): Promise<void> {
    const kind = rateOf(scope);
    const perMinute = ratesPerMinute[kind];
    if (perMinute === undefined) return;
    const points = pointsOf(byteSize);
    const { isOver, resetMs } = await this.limitOf(kind, perMinute).take(name, points);
    if (isOver)
      throw new ServiceError(
        'RATE_LIMITED',
        `${name} may send ${perMinute} ${kind} a minute${sizeNote(points)}; wait for the time in RetryInfo.`,
        { retryAfterMs: resetMs },
      );
  }

  /**
   * One for each rate there is: a caller whose rate was changed, or differs from that of another token of its name, has
   * both.
   */
  private limitOf(kind: 'reads' | 'writes', perMinute: number): RateLimit {
    const what = `${perMinute} ${kind}`;
    let limit = this.limits.get(what);
    if (limit === undefined) this.limits.set(what, (limit = new RateLimit(perMinute)));
    return limit;
  }
}
