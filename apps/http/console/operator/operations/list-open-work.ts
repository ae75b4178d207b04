import { openWork } from '../../../../../core/generation/open-work.js';
import { pageByToken } from '../../../../requests/page-token.js';
import { isoTime } from '../../../../operator/iso-time.js';
import { generationJson, moreJson } from '../../../../operator/records.js';
import { shownGeneration } from '../../../../operator/store-operator.js';
import type { OperatorOperation } from '../operator-operation.js';

/** What credits of any account are held for, the oldest first. */
export const listOpenWork: OperatorOperation = {
  method: 'GET',
  path: '/work',
  act: 'list open work',
  async answer({ context }, { page }) {
    const work = await pageByToken(page, 'open work', (asked) => openWork(context, asked), 'cursor');
    const ids = [...new Set(work.items.map(({ hold }) => hold.accountId))];
    const accounts = await Promise.all(ids.map((id) => context.accounts.read(id, context.call, 'totals')));
    const names = new Map(accounts.flatMap((one) => (one === null ? [] : [[one.accountId, one.name]])));
    return {
      now: isoTime(context.clock.now()),
      work: work.items.map(({ hold, generation }) => ({
        generation_id: hold.generationId,
        account_id: hold.accountId,
        account_name: names.get(hold.accountId),
        held_credits: hold.credits,
        held_at: isoTime(hold.heldAt),
        ...(generation === null ? {} : { generation: generationJson(shownGeneration(generation)) }),
      })),
      ...moreJson(work),
    };
  },
};
