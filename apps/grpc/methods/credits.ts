import { getBalance } from '../../../core/credits/get-balance.js';
import type { CreditOperation } from '../../../core/credits/operate.js';
import { listEntries } from '../../../core/credits/list-entries.js';
import { readUsage } from '../../../core/usage/read-usage.js';
import { readUsageRequest } from '../../../core/usage/usage-request.js';
import { cursorOf, tokenOf } from '../../requests/page-token.js';
import { StoreOperator } from '../../operator/store-operator.js';
import { Credits } from '../generated/darkroom/v1/credits_pb.js';
import { acting, plain } from '../method.js';
import { readPage } from '../pages.js';
import { renderEntry, renderOperated, renderOwnEntry } from '../render/credits.js';
import { wordOf } from '../render/enums.js';
import { renderUsage, USAGE_BY } from '../render/usage.js';

const { method } = Credits;

export const CREDIT_METHODS = [
  acting(method.getBalance, {
    scope: 'credits:read',
    async answer({ context, caller }) {
      const { availableCredits, currency } = await getBalance(context, caller);
      return { availableCredits: BigInt(availableCredits), currency };
    },
  }),
  acting(method.listOwnEntries, {
    scope: 'credits:read',
    async answer({ context, caller, request }) {
      const list = `statement of ${caller.accountId}`;
      const statement = await listEntries(context, caller, cursorOf(readPage(request), list));
      return {
        entries: statement.entries.map(renderOwnEntry),
        openingCredits: BigInt(statement.openingCredits),
        closingCredits: BigInt(statement.closingCredits),
        nextPageToken: tokenOf(list, statement.nextCursor) ?? '',
      };
    },
  }),
  acting(method.getUsage, {
    scope: 'credits:read',
    async answer({ context, caller, request: { by, from, to, ...page } }) {
      const sent = { by: wordOf(USAGE_BY, by), from, to };
      const request = readUsageRequest(sent, context.clock.now());
      const list = `usage of ${caller.accountId} ${JSON.stringify(request)}`;
      const usage = await readUsage(context, caller, request, cursorOf(readPage(page), list));
      return { ...renderUsage(usage), nextPageToken: tokenOf(list, usage.nextCursor) ?? '' };
    },
  }),
  plain(method.getAccountUsage, {
    scope: 'ledger:read',
    async answer({ context, request: { accountId, by, from, to, ...page } }) {
      const sent = { by: wordOf(USAGE_BY, by), from, to };
      return renderUsage(await new StoreOperator(context).getUsage(accountId, sent, readPage(page)));
    },
  }),
  plain(method.grantCredits, {
    scope: 'credits:write',
    answer: async ({ context, request }) =>
      renderOperated(await new StoreOperator(context).grantCredits(operationOf(request))),
  }),
  plain(method.adjustCredits, {
    scope: 'credits:write',
    answer: async ({ context, request }) =>
      renderOperated(await new StoreOperator(context).adjustCredits(operationOf(request))),
  }),
  plain(method.listEntries, {
    scope: 'ledger:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listEntries(
        request.accountId,
        readPage(request),
      );
      return { entries: items.map(renderEntry), nextPageToken: nextCursor };
    },
  }),
  plain(method.verifyCredits, {
    scope: 'ledger:read',
    async answer({ context }) {
      const { accounts, entries, generations, findings } = await new StoreOperator(context).verifyCredits();
      return {
        accounts: BigInt(accounts),
        entries: BigInt(entries),
        generations: BigInt(generations),
        findings: [...findings],
      };
    },
  }),
] as const;

interface OperationRequest {
  readonly accountId: string;
  readonly operationId: string;
  readonly credits: bigint;
  readonly reason: string;
}

/** An amount beyond 2^53 - 1 becomes another one, which core refuses as well. */
function operationOf({ accountId, operationId, credits, reason }: OperationRequest): CreditOperation {
  return { accountId, operationId, credits: Number(credits), reason };
}
