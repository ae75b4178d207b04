import type { BodySchema, Wording } from '../../../../core/fields.js';
import { isUuid } from '../../../../core/ids.js';
import type { Log } from '../../../../core/log.js';
import type { PageRequest } from '../../../../core/paging.js';
import type * as messages from '../../../operator/message-json.js';
import type { OperatorClient } from '../../../operator/operator.js';
import type { StreamedAnswer } from '../../host/send.js';
import type { RoutedContext } from '../../host/server.js';
import type { ConsoleCall, ConsoleParts } from '../console-operation.js';

/** What the log says of an act besides who did it: ids and numbers, never texts of people. */
export type ActDetails = Readonly<Record<string, string | number | boolean | undefined>>;

interface Begun {
  readonly act: string;
  readonly operatorId: string;
  readonly requestId: string;
  /** The parameters of the path, such as `account_id`. What is no id is left out, as it could be anything. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The record of one act of an operator: a line before it has any effect, and one with its outcome before it is answered.
 * A process that ends between the two leaves the first.
 */
export class OperatorAct {
  private details: ActDetails = {};

  constructor(
    private readonly log: Log,
    private readonly begun: Begun,
    /** Whether it is recorded at all. */
    private readonly isRecorded: boolean,
  ) {}

  begin(): void {
    this.write('begun');
  }

  /** What is learned of it on the way. */
  note(details: ActDetails): void {
    this.details = { ...this.details, ...details };
  }

  /** `done`, or the code of a refusal or failure. */
  end(outcome: string): void {
    this.write(outcome);
  }

  private write(outcome: string): void {
    if (!this.isRecorded) return;
    const { params, ...begun } = this.begun;
    this.log.info('operator act', { ...begun, outcome, ...idsOf(params), ...this.details });
  }
}

function idsOf(params: Begun['params']): ActDetails {
  const ids = Object.entries(params).filter(([, value]) => isUuid(value));
  return Object.fromEntries(ids.map(([name, value]) => [name.replace('_id', 'Id'), value.toLowerCase()]));
}

/** A request of an operator that passed all checks. */
export interface OperatorCall extends ConsoleCall {
  /** The operators' services, in this process. */
  readonly operator: OperatorClient;
  /** Messages and records as JSON. */
  readonly json: typeof messages;
  /** The query parameters that were sent, of those that the operation takes. */
  readonly query: Readonly<Record<string, string>>;
  /** The page that the query asks for. */
  readonly page: PageRequest;
  /** The same for a list of a service. */
  readonly paging: { readonly pageSize: number; readonly pageToken: string };
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
  /** The data of the envelope, which may be a message, or a stream that records its own end. Throws `ServiceError`. */
  answer(parts: ConsoleParts, call: OperatorCall): Promise<object | StreamedAnswer>;
}

/** An id in the path of the request. */
export function idIn({ params }: RoutedContext, name: string): string {
  return params[name] ?? '';
}
