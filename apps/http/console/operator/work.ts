import { openWork } from '../../../../core/generation/read-generations.js';
import { pageByToken } from '../../../page-token.js';
import { idIn, type OperatorOperation } from './operator-operation.js';

/** The work of any account that credits are held for, the oldest first. */
const listOpenWork: OperatorOperation = {
  method: 'GET',
  path: '/work',
  act: 'list open work',
  async answer({ context }, { page, json }) {
    const { items, nextCursor } = await pageByToken(page, 'open work', (asked) => openWork(context, asked), 'cursor');
    const ids = [...new Set(items.map(({ hold }) => hold.accountId))];
    const accounts = await Promise.all(ids.map((id) => context.accounts.read(id, context.call, 'totals')));
    const names = new Map(accounts.flatMap((one) => (one === null ? [] : [[one.accountId, one.name]])));
    return {
      now: new Date(context.clock.now()).toISOString(),
      work: items.map(({ hold, generation }) => ({
        generation_id: hold.generationId,
        account_id: hold.accountId,
        account_name: names.get(hold.accountId),
        held_credits: hold.credits,
        held_at: new Date(hold.heldAt).toISOString(),
        ...(generation === null ? {} : { generation: json.generationJson(generation) }),
      })),
      next_cursor: nextCursor,
    };
  },
};

/** Cancels a generation, as its client could. */
const cancelGeneration: OperatorOperation = {
  method: 'POST',
  path: '/generations/:generation_id/cancel',
  act: 'cancel a generation',
  async answer(_parts, { ctx, operator, act, json }) {
    const { generation } = await operator.operations.stopGeneration({ generationId: idIn(ctx, 'generation_id') });
    const shown = json.messageJson(generation);
    act.note({ accountId: generation?.accountId, status: shown['status'] as string });
    return { generation: shown };
  },
};

/** A generation of any account, without its request. */
const getGeneration: OperatorOperation = {
  method: 'GET',
  path: '/generations/:generation_id',
  act: 'read a generation',
  async answer({ context }, { ctx, operator, json }) {
    const { generation } = await operator.operations.inspectGeneration({ generationId: idIn(ctx, 'generation_id') });
    return { now: new Date(context.clock.now()).toISOString(), generation: json.messageJson(generation) };
  },
};

/** The request of a generation, which belongs to its client. */
const getContent: OperatorOperation = {
  method: 'GET',
  path: '/generations/:generation_id/content',
  act: 'read the content of a generation',
  readsContent: true,
  async answer(_parts, { ctx, operator, act, json }) {
    const generationId = idIn(ctx, 'generation_id');
    const { generation, content } = await operator.operations.inspectGeneration({ generationId });
    act.note({ accountId: generation?.accountId });
    return json.messageJson(content);
  },
};

/** All connected providers as the workers see them, in the order of the configuration. */
const listProviders: OperatorOperation = {
  method: 'GET',
  path: '/providers',
  act: 'list providers',
  async answer({ context }, { operator, json }) {
    const listed = await operator.operations.listProviders({});
    return { now: new Date(context.clock.now()).toISOString(), ...json.messageJson(listed) };
  },
};

/** Generations of any account, and the providers. */
export const WORK_OPERATIONS: readonly OperatorOperation[] = [
  listProviders,
  listOpenWork,
  getGeneration,
  getContent,
  cancelGeneration,
];
