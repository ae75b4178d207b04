import { openWork } from '../../../../core/generation/read-generations.js';
import { generationJson, inspectedJson, isoTime, moreJson, providerJson } from '../../../operator/records.js';
import { shownGeneration } from '../../../operator/store-operator.js';
import { pageByToken } from '../../../page-token.js';
import type { OperatorOperation } from './operator-operation.js';

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

/** As its client could. */
export const cancelGeneration: OperatorOperation = {
  method: 'POST',
  path: '/generations/:generation_id/cancel',
  act: 'cancel a generation',
  async answer(_parts, { ctx, operator, act }) {
    const generation = await operator.cancelGeneration(ctx.params['generation_id'] ?? '');
    act.note({ accountId: generation.accountId, status: generation.status });
    return { generation: generationJson(generation) };
  },
};

/** A generation of any account, without its request. */
export const getGeneration: OperatorOperation = {
  method: 'GET',
  path: '/generations/:generation_id',
  act: 'read a generation',
  async answer({ context }, { ctx, operator }) {
    const generation = await operator.inspectGeneration(ctx.params['generation_id'] ?? '');
    return { now: new Date(context.clock.now()).toISOString(), generation: generationJson(generation) };
  },
};

/** What its client asked for, which is theirs. */
export const getContent: OperatorOperation = {
  method: 'GET',
  path: '/generations/:generation_id/content',
  act: 'read the content of a generation',
  readsContent: true,
  async answer(_parts, { ctx, operator, act }) {
    const generation = await operator.inspectGeneration(ctx.params['generation_id'] ?? '');
    act.note({ accountId: generation.accountId });
    const { prompt, negative_prompt, parameters, reference_upload_ids } = inspectedJson(generation);
    return { prompt, negative_prompt, parameters, reference_upload_ids };
  },
};

/** All connected providers as the workers see them, in the order of the configuration. */
export const listProviders: OperatorOperation = {
  method: 'GET',
  path: '/providers',
  act: 'list providers',
  async answer({ context }, { operator }) {
    return {
      now: new Date(context.clock.now()).toISOString(),
      providers: (await operator.listProviders()).map(providerJson),
    };
  },
};
