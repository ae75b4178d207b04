import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { Caller } from '../../core/access/credential.js';
import type { Call, Erasing, Files, Identity, Machine, Models, Money, Webhooks, Work } from '../../core/context.js';
import { fieldInvalid } from '../../core/fields.js';
import { readIdempotencyKey } from '../../core/idempotency/claims.js';
import { isUuid } from '../../core/ids.js';
import type { PageRequest } from '../../core/paging.js';
import type { ServiceScope } from './callers.js';

/** The address at which clients reach REST, which serves outputs and their thumbnails. */
export interface Addressed {
  /** Without a slash at the end. */
  readonly publicUrl: () => string;
}

/** The capabilities of core that the methods of all services use together. */
export type UsedContext = Money & Work & Files & Identity & Models & Webhooks & Erasing & Machine & Call;
export type GrpcContext = UsedContext & Addressed;

/** A call that passed the checks of its method, with the capabilities `C` that the method uses. */
export interface PlainCall<Request, C> {
  readonly context: C;
  readonly request: Request;
}

/** The call of a method that acts for an account and an App. */
export interface ActingCall<Request, C> extends PlainCall<Request, C> {
  readonly caller: Caller;
  /** Throws once the service or the program may no longer call; to be called after a wait. */
  readonly requireAllowed: () => Promise<void>;
}

/** A stream that lasts until it is ended. */
export interface WatchingCall<Request, C> extends ActingCall<Request, C> {
  readonly signal: AbortSignal;
}

interface Described {
  /**
   * The field of the request that contains the use case's body, for the fields of refusals; the request itself if
   * absent.
   */
  readonly bodyField?: string;
}

// The types of a method's request and response are known where it is defined; a list of methods only knows that it
// serves calls.
export interface ServedMethod<C = GrpcContext> extends Described {
  readonly method: DescMethodUnary;
  /** Absent for a public method. */
  readonly scope?: ServiceScope;
  /** Whether it acts for the account and the App in the call's metadata. */
  readonly acts: boolean;
  readonly answer: (call: ActingCall<never, C>) => Promise<Record<string, unknown>>;
  createdId?(answer: never): string | undefined;
}

/** A method that sends several messages, until it ends or the caller disconnects. */
export interface ServedStream<C = GrpcContext> {
  readonly method: DescMethodServerStreaming;
  readonly scope: ServiceScope;
  readonly acts: true;
  readonly answer: (call: WatchingCall<never, C>) => AsyncIterable<Record<string, unknown>>;
}

type Answer<I extends DescMessage, O extends DescMessage, C> = (
  call: PlainCall<MessageShape<I>, C>,
) => Promise<MessageInitShape<O>>;

/** A public method. */
export function open<I extends DescMessage, O extends DescMessage, C>(
  method: DescMethodUnary<I, O>,
  answer: Answer<I, O, C>,
): ServedMethod<C> {
  return { method, acts: false, answer };
}

/** A method for services with this scope. */
export function plain<I extends DescMessage, O extends DescMessage, C>(
  method: DescMethodUnary<I, O>,
  scope: ServiceScope,
  answer: Answer<I, O, C>,
): ServedMethod<C> {
  return { method, acts: false, scope, answer };
}

/** A method that acts for an account and an App. */
export function acting<I extends DescMessage, O extends DescMessage, C>(
  method: DescMethodUnary<I, O>,
  scope: ServiceScope,
  answer: (call: ActingCall<MessageShape<I>, C>) => Promise<MessageInitShape<O>>,
  more: Described & {
    /** Id of the generation that a call with this response created, for the log. */
    createdId?(answer: MessageInitShape<O>): string | undefined;
  } = {},
): ServedMethod<C> {
  return { method, acts: true, scope, answer, ...more };
}

/** A method that acts for an account and an App, and sends several messages. */
export function streaming<I extends DescMessage, O extends DescMessage, C>(
  method: DescMethodServerStreaming<I, O>,
  scope: ServiceScope,
  answer: (call: WatchingCall<MessageShape<I>, C>) => AsyncIterable<MessageInitShape<O>>,
): ServedStream<C> {
  return { method, acts: true, scope, answer };
}

const DEFAULT_SIZE = 50;
const MAX_SIZE = 1_000;

interface ListRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** The page that a list request asks for; its cursor is the token. Throws FIELD_INVALID. */
export function readPage({ pageSize, pageToken }: ListRequest, maxSize = MAX_SIZE): PageRequest {
  if (pageSize < 0) throw fieldInvalid('/page_size', 'page_size must not be negative.');
  const limit = pageSize === 0 ? DEFAULT_SIZE : Math.min(pageSize, maxSize);
  return pageToken === '' ? { limit } : { limit, cursor: pageToken };
}

/** A UUID in lower case. Throws FIELD_INVALID, as some stores can hold nothing else. */
export function readUuid(text: string, pointer: string): string {
  if (!isUuid(text)) throw fieldInvalid(pointer, `${pointer.slice(1)} must be a UUID.`);
  return text.toLowerCase();
}

/** Throws IDEMPOTENCY_KEY_REQUIRED and IDEMPOTENCY_KEY_INVALID. */
export function keyOf({ idempotencyKey }: { readonly idempotencyKey?: string | undefined }): string {
  return readIdempotencyKey(idempotencyKey === undefined ? [] : [idempotencyKey]);
}
