import type { Message } from '@bufbuild/protobuf';
import type { Cancellation } from '../../../../core/cancellation.js';
import { requireOperator } from '../../../../core/people/operators.js';
import { asServiceError } from '../../../service-errors.js';
import { readQuery, readText } from '../../host/request.js';
import { requireSameOrigin } from '../../pages/page.js';
import type { ConsoleOperation } from '../console-operation.js';
import { OperatorAct, type OperatorOperation } from './operator-operation.js';

const PAGE_SIZE = 25;
const MAX_CURSOR = 2_000;
const MAX_SEARCH = 1_000;

/**
 * For work that is bounded and always completed. If stores receive it, they let other requests run between two pages
 * of a list.
 */
const IN_TURN: Cancellation = { deadline: Infinity, isOver: false, onOver: () => () => undefined };

/**
 * The only way to serve an operator's operation: the caller is an operator who has signed in with a passkey, and
 * every change or read of clients' data is recorded.
 */
export function guarded(operation: OperatorOperation): ConsoleOperation {
  const { method, path, act: what, body, query: names = [], readsContent = false } = operation;
  const isChange = method === 'POST';
  return {
    method,
    path: `/operator${path}`,
    ...(body === undefined ? {} : { body }),
    admit: ({ context }, signedIn) => requireOperator(context, signedIn, isChange ? 'change' : 'read'),
    async answer({ context, ...parts }, call) {
      const { ctx, signedIn } = call;
      const { requestId, target } = ctx.state;
      // A link on another page must not leave a record of what the operator has not read.
      if (readsContent) requireSameOrigin(ctx, parts.publicUrl());
      const query = isChange ? {} : readQuery(target.query, ['cursor', ...names]);
      for (const name of names) readText(query, name, MAX_SEARCH);
      const cursor = readText(query, 'cursor', MAX_CURSOR);
      const page = { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
      const paging = { pageSize: PAGE_SIZE, pageToken: cursor ?? '' };
      const own = { ...context, call: IN_TURN };
      const begun = { act: what, operatorId: signedIn.person.personId, requestId, params: ctx.params };
      const act = new OperatorAct(context.log, begun, isChange || readsContent);
      act.begin();
      try {
        // Loaded only now: most servers have no operator's area, and start faster without the messages.
        const json = await import('../../../operator/message-json.js');
        const { operatorInProcess } = await import('../../../operator/operator-client.js');
        const operator = operatorInProcess(own);
        const more = { operator, json, query, page, paging, act };
        const answer = await operation.answer({ ...parts, context: own }, { ...call, ...more });
        if ('stream' in answer) return answer;
        const data = '$typeName' in answer ? json.messageJson(answer as Message) : answer;
        act.end('done');
        return data;
      } catch (error) {
        act.end(asServiceError(error).code);
        throw error;
      }
    },
  };
}
