import { openWork } from '../../../../core/generation/read-generations.js';
import { pageByToken } from '../../../page-token.js';
import { change, type OperatorCall, type OperatorOperation, read } from './operator-operation.js';

const GENERATION = '/generations/:generation_id';

/** Generations of any account, and the providers. */
export const WORK_OPERATIONS: readonly OperatorOperation[] = [
  // Lists the providers as the workers see them, in the order of the configuration.
  read('/providers', 'list providers', async ({ context, operator, json }) => {
    const listed = await operator.operations.listProviders({});
    return { now: new Date(context.clock.now()).toISOString(), ...json.messageJson(listed) };
  }),
  read('/work', 'list open work', listOpenWork),
  // Without its request.
  read(GENERATION, 'read a generation', async ({ id, context, operator, json }) => {
    const { generation } = await operator.operations.inspectGeneration({ generationId: id });
    return { now: new Date(context.clock.now()).toISOString(), generation: json.messageJson(generation) };
  }),
  // The request of a generation, which belongs to its client.
  read(
    `${GENERATION}/content`,
    'read the content of a generation',
    async ({ id, operator, act, json }) => {
      const { generation, content } = await operator.operations.inspectGeneration({ generationId: id });
      act.note({ accountId: generation?.accountId });
      return json.messageJson(content);
    },
    { readsContent: true },
  ),
  // Cancels a generation as its client could.
  change(`${GENERATION}/cancel`, 'cancel a generation', async ({ id, operator, act, json }) => {
    const { generation } = await operator.operations.stopGeneration({ generationId: id });
    const shown = json.messageJson(generation);
    act.note({ accountId: generation?.accountId, status: shown['status'] as string });
    return { generation: shown };
  }),
];

/** The work of any account that credits are reserved for, the oldest first. */
async function listOpenWork({ context, page, json }: OperatorCall): Promise<object> {
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
      reserved_credits: hold.credits,
      reserved_at: new Date(hold.heldAt).toISOString(),
      ...(generation === null ? {} : { generation: json.generationJson(generation) }),
    })),
    next_cursor: nextCursor,
  };
}
