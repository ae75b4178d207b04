import type { BodySchema, Wording } from '../../../../core/fields.js';
import type { PageRequest } from '../../../../core/paging.js';
import type { Operator } from '../../../operator/operator.js';
import type { StreamedAnswer } from '../../host/answer.js';
import type { ConsoleCall, ConsoleParts } from '../console-operation.js';
import type { OperatorAct } from './operator-act.js';

/** A request of an operator that passed all checks. */
export interface OperatorCall extends ConsoleCall {
  readonly operator: Operator;
  /** The query parameters that were sent, of those that the operation takes. */
  readonly query: Readonly<Record<string, string>>;
  /** The page that the query asks for. */
  readonly page: PageRequest;
  /** The record of it in the log. Operations add what they learn. */
  readonly act: OperatorAct;
}

/**
 * One request that the operator's area makes of its server. It can be served only as `guarded` makes it: for an operator
 * who has signed in with a passkey, lately where it changes something, and recorded.
 */
export interface OperatorOperation {
  readonly method: 'GET' | 'POST';
  /** Under `/console/api/operator`. */
  readonly path: string;
  /** What it is called in the log, as in "suspend an account". */
  readonly act: string;
  /** Whether it answers what belongs to clients, such as a prompt. It is recorded then, as changes are. */
  readonly readsContent?: true;
  /** Query parameters besides the cursor of a list. */
  readonly query?: readonly string[];
  /** Without it the body is an empty object. */
  readonly body?: { readonly schema: BodySchema; readonly wording?: Wording };
  /** The data of the envelope, or a stream that records its own end. Throws `ServiceError`. */
  answer(parts: ConsoleParts, call: OperatorCall): Promise<object | StreamedAnswer>;
}
