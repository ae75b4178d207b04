import { hash } from 'node:crypto';
import { LocatedYaml } from '../../../adapters/catalog-file/located-yaml.js';
import { AjvJsonSchemas } from '../../../adapters/system/ajv-json-schemas.js';
import { SCOPES } from '../../../core/access/credential.js';
import type { JsonObject } from '../../../core/json.js';
import { ConfigInvalid } from '../../config/config.js';
import {
  OPERATOR_SCOPES,
  type Presented,
  type ServiceCaller,
  type ServiceCallers,
  type ServiceScope,
} from './service-callers.js';

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

/** What a pattern says to those who do not read them. */
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

/** Of DNS names alone no case counts. */
function comparable(certificateName: string): string {
  return certificateName.includes(':') ? certificateName : certificateName.toLowerCase();
}

/** What the file has of a token. Tokens are random and long, so no salt and no slow digest is needed. */
export function digestOf(token: string): string {
  return hash('sha256', token, 'hex');
}
