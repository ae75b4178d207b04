import type { BodySchema, Wording } from '../../../../core/fields.js';
import { isUuid } from '../../../../core/ids.js';
import type { Log } from '../../../../core/log.js';
import type { PageRequest } from '../../../../core/paging.js';
import type * as messages from '../../../operator/message-json.js';
import type { OperatorClient } from '../../../operator/operator.js';
import type { StreamedAnswer } from '../../host/send.js';
import type { RoutedContext } from '../../host/server.js';
import type { ConsoleCall, ConsoleParts } from '../console-operation.js';

/** The details of an act in the log, besides who did it: ids and numbers, never people's texts. */
export type ActDetails = Readonly<Record<string, string | number | boolean | undefined>>;

interface Begun {
  readonly act: string;
  readonly operatorId: string;
  readonly requestId: string;
  /**
   * The parameters of the path, such as `account_id`. Values that are not ids are left out, as they could be
   * anything.
   */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * The record of one operator's act: one line in the log before it has any effect, and one with its outcome before the
 * response. A process that ends between the two leaves only the first.
 */
export class OperatorAct {
  private details: ActDetails = {};

  constructor(
    private readonly log: Log,
    private readonly begun: Begun,
    /** Whether the act is recorded at all. */
    private readonly isRecorded: boolean,
  ) {}

  begin(): void {
    this.write('begun');
  }

  /** Adds details that are found while the act runs. */
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
  /** The record of the act in the log. Operations add details to it. */
  readonly act: OperatorAct;
}

/**
 * One request that the operator's area sends to its server. It can be served only through `guarded`: for an operator
 * who has signed in with a passkey, recently if it makes a change, and with a record.
 */
export interface OperatorOperation {
  readonly method: 'GET' | 'POST';
  /** Under `/console/api/operator`. */
  readonly path: string;
  /** The name of the act in the log, as in "suspend an account". */
  readonly act: string;
  /** Whether the response contains clients' content, such as a prompt. It is then recorded, as changes are. */
  readonly readsContent?: true;
  /** Query parameters besides the cursor of a list. */
  readonly query?: readonly string[];
  /** If absent, the body is an empty object. */
  readonly body?: { readonly schema: BodySchema; readonly wording?: Wording };
  /**
   * The data of the envelope, which may be a message, or a stream that records its own end. Throws `ServiceError`.
   */
  answer(parts: ConsoleParts, call: OperatorCall): Promise<object | StreamedAnswer>;
}

/** An id in the path of the request. */
export function idIn({ params }: RoutedContext, name: string): string {
  return params[name] ?? '';
}
