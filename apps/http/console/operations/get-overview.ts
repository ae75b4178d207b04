import { ServiceError } from '../../../../core/errors.js';
import { DEFAULT_SCOPES, SCOPES } from '../../../../core/access/credential.js';
import { exampleRequest } from '../../../../core/generation/example-request.js';
import { consoleApp } from '../../../../core/people/account-apps.js';
import { isOperator } from '../../../../core/people/operators.js';
import { isRecentSignIn } from '../../../../core/people/sessions.js';
import type { ConsoleOperation } from '../console-operation.js';

/** Who is signed in, for which account, and what this service has. */
export const getOverview: ConsoleOperation = {
  method: 'GET',
  path: '/overview',
  async answer({ context, publicUrl, hasOAuth, hasMcp, hasOperatorArea, outsideProvider }, { signedIn }) {
    const { person, session } = signedIn;
    const account = await context.accounts.read(person.accountId, undefined, 'totals');
    if (!account) throw new ServiceError('NOT_FOUND', 'There is no such account any more.');
    const { accountId } = account;
    const { appId } = await consoleApp(context, accountId);
    const caller = { accountId, appId, credentialId: person.personId, scopes: [] };
    const base = publicUrl();
    return {
      person: {
        id: person.personId,
        email: person.email,
        has_password: person.password !== undefined,
        has_passkey: person.passkeys.length > 0,
        is_operator: isOperator(person),
      },
      session: { method: session.method, is_recent: isRecentSignIn(context, session) },
      account: {
        id: account.accountId,
        name: account.name,
        currency: account.currency,
        is_suspended: account.suspendedAt !== undefined,
        available_credits: account.available,
        reserved_credits: account.reserved,
        spent_credits: account.spent,
      },
      console_app_id: appId,
      scopes: SCOPES,
      default_scopes: DEFAULT_SCOPES,
      base_url: base,
      mcp_url: hasMcp ? `${base}/api/v1/developer/mcp` : null,
      has_oauth: hasOAuth,
      has_operator_area: hasOperatorArea && isOperator(person),
      first_request: (await exampleRequest(context, caller)) ?? null,
      provider_name: outsideProvider?.name ?? null,
    };
  },
};
