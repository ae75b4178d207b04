import { DEFAULT_SCOPES, SCOPES } from '../../../core/access/credential.js';
import type { Files, Identity, Machine, Models, Money, Work } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import { exampleRequest } from '../../../core/generation/quote.js';
import { getGeneration } from '../../../core/generation/read-generations.js';
import { isOperator } from '../../../core/people/operators.js';
import { consoleApp } from '../../../core/people/own-keys.js';
import { callerOfPerson, isRecentSignIn } from '../../../core/people/sessions.js';
import { type ConsoleOperation, get } from './console-operation.js';

/** Data of the person and of single generations that the page needs. */
export const OVERVIEW_OPERATIONS: readonly ConsoleOperation<Money & Work & Files & Identity & Models & Machine>[] = [
  /** The signed-in person, their account, and the features of this service. */
  get(
    '/overview',
    async ({ context, publicUrl, hasOAuth, hasMcp, hasOpenAi, hasOperatorArea, outsideProvider }, { signedIn }) => {
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
        has_openai: hasOpenAi,
        has_operator_area: hasOperatorArea && isOperator(person),
        first_request: (await exampleRequest(context, caller)) ?? null,
        provider_name: outsideProvider?.name ?? null,
      };
    },
  ),
  /**
   * The input of a generation of this page, so that it can be repeated; null once its content was removed. The input of
   * programs is not shown: it belongs to their users.
   */
  get('/playground/generations/:generation_id/input', async ({ context }, { ctx, signedIn: { person } }) => {
    const { appId } = await consoleApp(context, person.accountId);
    const caller = await callerOfPerson(context, person, appId);
    const generation = await getGeneration(context, caller, ctx.params['generation_id'] ?? '');
    if (generation.contentRemovedAt !== undefined) return { input: null };
    const { modelKey, operation, prompt, negativePrompt, parameters, references } = generation;
    return {
      input: {
        model_key: modelKey,
        operation,
        prompt,
        negative_prompt: negativePrompt ?? null,
        parameters,
        references: references.map(({ uploadId, role }) => ({ upload_id: uploadId, role })),
      },
    };
  }),
];
