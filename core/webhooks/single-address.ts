import { requireScope } from '../access/authenticate.js';
import type { Caller } from '../access/credential.js';
import type { Context } from '../context.js';
import { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';

/**
 * Throws unless the caller may have the end of one generation told to this address: DEVELOPER_SCOPE_INSUFFICIENT,
 * FIELD_INVALID, and CONFLICT while the App has no default secret, which signs what is sent there.
 */
export async function requireCallable(
  { webhookEndpoints, webhookSender, call }: Pick<Context, 'webhookEndpoints' | 'webhookSender' | 'call'>,
  caller: Caller,
  url: string,
): Promise<void> {
  requireScope(caller, 'webhooks:manage');
  const fault = webhookSender.addressFault(url);
  if (fault !== undefined) throw fieldInvalid('/webhook_url', `The webhook URL of a generation ${fault}.`);
  if ((await webhookEndpoints.read(caller.appId, call))?.defaultSecret === undefined)
    throw new ServiceError(
      'CONFLICT',
      'The App has no default webhook secret, which signs what is sent to the webhook URL of a generation; make one first.',
    );
}
