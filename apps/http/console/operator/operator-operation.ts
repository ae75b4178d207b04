import type { Message } from '@bufbuild/protobuf';
import type { Cancellation } from '../../../../core/cancellation.js';
import type { Call, Identity, Machine, Money, Work } from '../../../../core/context.js';
import type { Wording } from '../../../../core/fields.js';
import { isUuid } from '../../../../core/ids.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Log } from '../../../../core/log.js';
import type { PageRequest } from '../../../../core/paging.js';
import { requireOperator } from '../../../../core/people/operators.js';
import type * as messages from '../../../operator/message-json.js';
import type { OperatorClient } from '../../../operator/operator.js';
import { asServiceError } from '../../../service-errors.js';
import { readQuery, readText, type TypedSchema } from '../../host/request.js';
import type { StreamedAnswer } from '../../host/send.js';
import { requireSameOrigin } from '../../pages/page.js';
import type { ConsoleCall, ConsoleOperation, ConsoleParts } from '../console-operation.js';

/** A request of an operator that passed all checks. */
export interface OperatorCall<Body = JsonObject> extends ConsoleCall<Body> {
  readonly parts: Omit<ConsoleParts, 'context'>;
  /** The context of the process, for work that is bounded and always completed. */
  readonly context: Money & Work & Identity & Machine & Call;
  /** The id in the path; empty if it has none. */
  readonly id: string;
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

/** The data of the envelope, which may be a message, or a stream that records its own end. Throws `ServiceError`. */
type Answer<Body = JsonObject> = (call: OperatorCall<Body>) => Promise<object | StreamedAnswer>;

/**
 * One request that the operator's area sends to its server. It can be served only through `guarded`: for an operator
 * who has signed in with a passkey, recently if it makes a change, and with a record.
 */
export interface OperatorOperation extends Pick<ConsoleOperation, 'method' | 'body'> {
  /** Under `/console/api/operator`, with at most one id. */
  readonly path: string;
  /** The name of the act in the log, as in "suspend an account". */
  readonly act: string;
  /** Whether the response contains clients' content, such as a prompt. It is then recorded, as changes are. */
  readonly readsContent?: true;
  /** Query parameters besides the cursor of a list. */
  readonly query?: readonly string[];
  readonly answer: Answer;
}

export function read(
  path: string,
  act: string,
  answer: Answer,
  more: Pick<OperatorOperation, 'query' | 'readsContent'> = {},
): OperatorOperation {
  return { method: 'GET', path, act, answer, ...more };
}

/** Its body is an empty object. */
export function change(path: string, act: string, answer: Answer): OperatorOperation {
  return { method: 'POST', path, act, answer };
}

/** The same with a body. `wording` is for its fields. */
export function changeWith<Body>(
  path: string,
  act: string,
  schema: TypedSchema<Body>,
  answer: Answer<Body>,
  wording: Wording = {},
): OperatorOperation {
  return { method: 'POST', path, act, body: { schema, wording }, answer: answer as unknown as Answer };
}

/** A time in milliseconds since the epoch as the operators' services take it. */
export function messageTime(epochMs: number): { readonly seconds: bigint; readonly nanos: number } {
  const seconds = Math.floor(epochMs / 1_000);
  return { seconds: BigInt(seconds), nanos: (epochMs - seconds * 1_000) * 1_000_000 };
}

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
    async answer(parts, call) {
      const { ctx, signedIn } = call;
      const { requestId, target } = ctx.state;
      // A link on another page must not leave a record of what the operator has not read.
      if (readsContent) requireSameOrigin(ctx, parts.publicUrl());
      const query = isChange ? {} : readQuery(target.query, ['cursor', ...names]);
      for (const name of names) readText(query, name, MAX_SEARCH);
      const cursor = readText(query, 'cursor', MAX_CURSOR);
      const page = { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
      const paging = { pageSize: PAGE_SIZE, pageToken: cursor ?? '' };
      const context = { ...parts.context, call: IN_TURN };
      const begun = { act: what, operatorId: signedIn.person.personId, requestId, params: ctx.params };
      const act = new OperatorAct(context.log, begun, isChange || readsContent);
      act.begin();
      try {
        // Loaded only now: most servers have no operator's area, and start faster without the messages.
        const json = await import('../../../operator/message-json.js');
        const { operatorInProcess } = await import('../../../operator/operator-client.js');
        const operator = operatorInProcess(context);
        const [id = ''] = Object.values(ctx.params);
        const answer = await operation.answer({
          ...call,
          parts,
          context,
          id,
          operator,
          json,
          query,
          page,
          paging,
          act,
        });
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
