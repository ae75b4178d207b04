import { fieldInvalid } from '../../../../core/fields.js';
import { messageTime, type OperatorCall, type OperatorOperation, read } from './operator-operation.js';

/** The state of the service as a whole. */
export const OVERVIEW_OPERATIONS: readonly OperatorOperation[] = [
  read(
    '/overview',
    'read the overview',
    ({ operator, query }) => operator.operations.getOverview({ from: timeOf(query, 'from'), to: timeOf(query, 'to') }),
    { query: ['from', 'to'] },
  ),
];

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/;

/** Throws FIELD_INVALID for a text that is not a time. */
function timeOf(query: OperatorCall['query'], name: string): ReturnType<typeof messageTime> | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw fieldInvalid(`/${name}`, `${name} must be a time such as 2026-01-31T09:30:00Z.`);
  return messageTime(time);
}
