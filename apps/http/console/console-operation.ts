import type { BodySchema, Wording } from '../../../core/fields.js';
import type { JsonObject } from '../../../core/json.js';
import type { SignedIn } from '../../../core/people/sessions.js';
import type { OutsideProvider } from '../../../core/ports/outside.js';
import type { OperatorContext } from '../../operator/operator.js';
import type { TypedSchema } from '../host/request.js';
import type { StreamedAnswer } from '../host/send.js';
import type { HttpShared, RoutedContext } from '../host/server.js';
import type { BrowserSessions, SignInRates } from '../pages/browser-sessions.js';

/** `C` names the capabilities: those that one operation uses, or all that the operators' area uses. */
export interface ConsoleOptions<C = OperatorContext> {
  readonly context: C;
  readonly sessions: BrowserSessions;
  readonly publicUrl: () => string;
  /** How long a body may take to arrive once its headers are here, in milliseconds. */
  readonly bodyTimeoutMs: number;
  /** Those of the sign-in page: a password guessed here counts there. */
  readonly signInRates: SignInRates;
  /** Whether people can connect programs. */
  readonly hasOAuth: boolean;
  /** Whether there is an MCP server. */
  readonly hasMcp: boolean;
  /** Whether there is the API that clients of OpenAI use. */
  readonly hasOpenAi: boolean;
  /** Whether there is an operator's area. */
  readonly hasOperatorArea: boolean;
  /** An external provider that people may sign in with. */
  readonly outsideProvider?: OutsideProvider | undefined;
}

export interface ConsoleParts<C = OperatorContext>
  extends ConsoleOptions<C>, Pick<HttpShared, 'addresses' | 'isStopping' | 'onStopping'> {}

/** A request of the page that has passed all checks. */
export interface ConsoleCall<Body = JsonObject> {
  readonly ctx: RoutedContext;
  readonly signedIn: SignedIn;
  /** Conforms to the operation's schema; an empty object if there is none. */
  readonly body: Body;
}

/** Returns the data of the envelope, or a stream instead. Throws `ServiceError`. */
type Answer<C, Body = JsonObject> = (
  parts: ConsoleParts<C>,
  call: ConsoleCall<Body>,
) => Promise<object | StreamedAnswer>;

/**
 * One request that the page sends to its server. It acts only for the person of the session. Every change is a POST
 * with JSON, which an HTML form cannot send.
 */
export interface ConsoleOperation<C = OperatorContext> {
  readonly method: 'GET' | 'POST';
  /** Under `/console/api`. */
  readonly path: string;
  /** If absent, the body is an empty object. */
  readonly body?: { readonly schema: BodySchema; readonly wording?: Wording };
  /** Whether the person may use the operation at all, checked before the body. Throws `ServiceError`. */
  readonly admit?: (parts: ConsoleParts<C>, signedIn: SignedIn) => void;
  readonly answer: Answer<C>;
}

/** A request of the page that reads something. */
export function get<C>(path: string, answer: Answer<C>): ConsoleOperation<C> {
  return { method: 'GET', path, answer };
}

/** A request of the page that changes something, with an empty body. */
export function post<C>(path: string, answer: Answer<C>): ConsoleOperation<C> {
  return { method: 'POST', path, answer };
}

/** The same with a body. `wording` is for its fields. */
export function postBody<Body, C>(
  path: string,
  schema: TypedSchema<Body>,
  answer: Answer<C, Body>,
  wording: Wording = {},
): ConsoleOperation<C> {
  return { method: 'POST', path, body: { schema, wording }, answer: answer as unknown as Answer<C> };
}

/** A name in a body that the page sends. */
export const NAME = { type: 'string', minLength: 1, maxLength: 100 } as const;
export const NAME_WORDING = { '/name': 'A name must have 1 to 100 characters.' } as const;

/** A time as the page reads it (RFC 3339, UTC); null where there is none. */
export function shownTime(epochMs: number | undefined): string | null {
  return epochMs === undefined ? null : new Date(epochMs).toISOString();
}
