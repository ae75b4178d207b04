import type { Context } from '../../../../core/context.js';
import { ServiceError } from '../../../../core/errors.js';
import { SCOPES } from '../../../../core/access/credential.js';
import { consoleApp } from '../../../../core/people/account-apps.js';
import { isRecentSignIn } from '../../../../core/people/sessions.js';
import type { ConsoleOperation } from '../console-operation.js';

/** Who is signed in, for which account, and what this service has. */
export const getOverview: ConsoleOperation = {
  method: 'GET',
  path: '/overview',
  async answer({ context, publicUrl, hasOAuth, hasMcp, outsideProvider }, { signedIn }) {
    const { person, session } = signedIn;
    const account = await context.accounts.read(person.accountId, undefined, 'totals');
    if (!account) throw new ServiceError('NOT_FOUND', 'There is no such account any more.');
    const app = await consoleApp(context, account.accountId);
    const base = publicUrl();
    return {
      person: { id: person.personId, email: person.email, has_password: person.password !== undefined },
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
      console_app_id: app.appId,
      scopes: SCOPES,
      base_url: base,
      mcp_url: hasMcp ? `${base}/api/v1/developer/mcp` : null,
      has_oauth: hasOAuth,
      first_model_key: firstPictureModel(context) ?? null,
      provider_name: outsideProvider?.name ?? null,
    };
  },
};

/** For an example: a model that makes a picture of a text. */
function firstPictureModel({ catalog }: Pick<Context, 'catalog'>): string | undefined {
  return catalog.models().find(({ operations }) => operations.includes('image_generation'))?.modelKey;
}
