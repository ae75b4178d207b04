import type { Metadata } from '@grpc/grpc-js';
import { SCOPES, type Caller } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { isUuid } from '../../../core/uuid.js';
import type { ServiceCaller } from './service-callers.js';

const ACCOUNT = 'darkroom-account-id';
export const APP_KEY = 'darkroom-app-id';
const MAX_KNOWN = 10_000;

/** For whom services act. One a process: an App never changes, so each is read once. */
export class ActingFor {
  private readonly accountsByApp = new Map<string, string>();

  constructor(private readonly context: Pick<Context, 'credentials'>) {}

  /**
   * The account and App that a service acts for: there is no default. Throws FIELD_REQUIRED without both ids in the
   * metadata, FIELD_INVALID for a malformed id, and NOT_FOUND for an App that the account does not have.
   */
  async caller(service: ServiceCaller, metadata: Metadata): Promise<Caller> {
    const [accountId, appId] = [readId(metadata, ACCOUNT), readId(metadata, APP_KEY)];
    if ((await this.accountOf(appId)) !== accountId)
      throw new ServiceError('NOT_FOUND', `Account ${accountId} has no App ${appId}.`);
    return {
      accountId,
      appId,
      credentialId: `service:${service.name}`,
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
}

function readId(metadata: Metadata, name: string): string {
  const [value, ...others] = metadata.get(name);
  if (value === undefined)
    throw new ServiceError('FIELD_REQUIRED', `Name the account or App with ${name} in the metadata.`);
  if (others.length > 0 || typeof value !== 'string' || !isUuid(value))
    throw new ServiceError('FIELD_INVALID', `${name} must be one UUID.`);
  return value.toLowerCase();
}
