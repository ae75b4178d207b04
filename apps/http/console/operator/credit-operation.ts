import type { CreditOperation } from '../../../../core/credits/operate.js';
import type { JsonObject } from '../../../../core/json.js';
import { isoTime } from '../../../operator/iso-time.js';
import type { Operated, Operator } from '../../../operator/operator.js';
import { accountJson } from '../../../operator/records.js';
import { operationIdOf } from './operation-ids.js';
import type { OperatorOperation } from './operator-operation.js';
import { CREDITS, OPERATION_ID, REASON } from './schemas.js';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['operation_id', 'credits', 'reason'],
  properties: { operation_id: OPERATION_ID, credits: CREDITS, reason: REASON },
} as const satisfies JsonObject;

const WORDING = {
  '/credits': 'Credits are a whole number.',
  '/reason': 'A reason must have 1 to 1,000 characters.',
} as const;

interface Sent {
  readonly operation_id: string;
  readonly credits: number;
  readonly reason: string;
}

/** Happens once under the id that the page sends, however often it is sent. */
export function creditOperation(
  path: string,
  act: string,
  make: (operator: Operator, operation: CreditOperation) => Promise<Operated>,
): OperatorOperation {
  return {
    method: 'POST',
    path: `/accounts/:account_id/${path}`,
    act,
    body: { schema: SCHEMA, wording: WORDING },
    async answer(_parts, { ctx, signedIn, operator, body, act: record }) {
      const { operation_id: sentId, credits, reason } = body as unknown as Sent;
      const operationId = operationIdOf(signedIn.person.personId, sentId);
      record.note({ credits, operationId });
      const accountId = ctx.params['account_id'] ?? '';
      const { account, earlierAt } = await make(operator, { accountId, operationId, credits, reason });
      record.note({ isRepeated: earlierAt !== undefined });
      return {
        account: accountJson(account),
        ...(earlierAt === undefined ? {} : { earlier_at: isoTime(earlierAt) }),
      };
    },
  };
}
