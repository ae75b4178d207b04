import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { anyUnpack, durationMs, MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt';
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  credentials,
  Metadata,
  type ServiceError as CallError,
  status as Status,
} from '@grpc/grpc-js';
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkServerIdentity } from 'node:tls';
import { isApiKeyShaped } from '../../../core/access/credential.js';
import { type ErrorCode, ERRORS, ServiceError } from '../../../core/errors.js';
import { certificateNamesOf } from '../../grpc/callers.js';
import { DETAILS_KEY, ERROR_DOMAIN } from '../../grpc/error-status.js';
import {
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from '../../grpc/generated/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../grpc/generated/google/rpc/status_pb.js';
import { methodDefinition } from '../../grpc/definitions.js';
import { printable } from '../../logging/logged-fields.js';
import { operatorClient } from '../../operator/operator-client.js';
import type { CallOptions, OperatorClient } from '../../operator/operator.js';
import { OutcomeUnknown } from '../client/failures.js';
import { EXIT, Failure, withMore } from '../exit.js';
import type { CliIo } from '../io.js';
import { say } from '../terminal.js';
import { certificateFault, type GrpcOptions, type GrpcPlace, readGrpcPlace } from './grpc-place.js';

const BASE_MS = 250;
const CAP_MS = 8_000;

/** The maximum number of tries per call, including the first. */
export const MAX_TRIES = 6;

/**
 * Milliseconds before try number `tries` + 1 if the server does not specify a delay: doubled each time, with random
 * jitter.
 */
export function backOffMs(tries: number): number {
  return Math.min(CAP_MS, BASE_MS * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
}

/** The details that a server sends for a refused call. */
interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly requestId: string;
  readonly retryAfterMs: number | undefined;
}

/** Undefined if the call was not ended by a Darkroom server. */
function readRefusal({ metadata, details: message }: CallError): Refusal | undefined {
  const [bytes] = metadata.get(DETAILS_KEY);
  if (!(bytes instanceof Buffer)) return undefined;
  try {
    const { details } = fromBinary(StatusSchema, bytes);
    const unpacked = <Desc extends DescMessage>(schema: Desc) =>
      details.flatMap((detail) => anyUnpack(detail, schema) ?? []);
    const info = unpacked(ErrorInfoSchema).find(({ domain }) => domain === ERROR_DOMAIN);
    if (info === undefined) return undefined;
    const [request] = unpacked(RequestInfoSchema);
    const delay = unpacked(RetryInfoSchema)[0]?.retryDelay;
    return {
      code: info.reason,
      message,
      requestId: request?.requestId ?? '',
      retryAfterMs: delay && durationMs(delay),
    };
  } catch {
    return undefined;
  }
}

/** Refusals of the use cases themselves, which are the same wherever the work is done. */
const OF_USE_CASES: ReadonlySet<Status> = new Set([
  Status.INVALID_ARGUMENT,
  Status.NOT_FOUND,
  Status.ALREADY_EXISTS,
  Status.FAILED_PRECONDITION,
]);
const OF_WHO_CALLS: ReadonlySet<Status> = new Set([
  Status.UNAUTHENTICATED,
  Status.PERMISSION_DENIED,
  Status.RESOURCE_EXHAUSTED,
]);

/** The message for a failed call: the refusal of the use case, that of the server, or why there was no answer. */
async function callFailure(error: CallError, place: GrpcPlace): Promise<ServiceError | Failure> {
  const refusal = readRefusal(error);
  if (refusal !== undefined && OF_USE_CASES.has(error.code) && isKnown(refusal.code))
    return new ServiceError(refusal.code, refusal.message);
  if (refusal === undefined)
    return new Failure(`${place.address} ${await whyUnanswered(error, place)}.`, EXIT.failure, {}, error);
  const { code, message, requestId } = refusal;
  const exitCode = OF_WHO_CALLS.has(error.code) ? EXIT.refused : EXIT.failure;
  return new Failure(
    `${wayIn(code, place) ?? printable(message)} (${code}, request ${requestId})`,
    exitCode,
    { code, message, request_id: requestId },
    error,
  );
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

/** A server's refusal of an unknown caller, in terms of this command line. */
function wayIn(code: string, { token, tls }: GrpcPlace): string | undefined {
  if (code === 'DEVELOPER_TOKEN_INVALID' && token !== undefined && !isApiKeyShaped(token))
    return 'The server does not know the token in DARKROOM_SERVICE_TOKEN.';
  if (code !== 'DEVELOPER_TOKEN_REQUIRED') return undefined;
  if (token !== undefined)
    return 'The server requires authentication, as if it had not received the token in DARKROOM_SERVICE_TOKEN.';
  if (tls?.cert === undefined)
    return 'The server requires authentication; set DARKROOM_SERVICE_TOKEN, or give --grpc-cert and --grpc-key.';
  const isNamed = certificateNamesOf(new X509Certificate(tls.cert).subjectAltName).length > 0;
  if (isNamed)
    return 'The server received no client certificate: it requests none, or a proxy terminates TLS; set DARKROOM_SERVICE_TOKEN.';
  return 'The server does not know a caller by the client certificate: it has no URI or DNS name.';
}

/** This side never cancels calls: a cancelled call is one that a stopping server ended. */
const CUT: ReadonlySet<Status> = new Set([Status.UNAVAILABLE, Status.CANCELLED]);

interface Reason {
  /** The library's message. */
  readonly said: RegExp;
  /** The reason in words that a user can act on. */
  readonly reason: string;
  /** Whether another try cannot help. */
  readonly isHopeless?: boolean;
  /** Whether the server's certificate may explain more. */
  readonly isOfCertificate?: boolean;
}

const REASONS: readonly Reason[] = [
  { said: /ECONNREFUSED/, reason: 'nothing listens there' },
  { said: /^Name resolution failed/, reason: 'its name cannot be resolved', isHopeless: true },
  {
    said: /alert .*certificate|alert unknown ca|alert handshake failure/,
    reason: 'it requires a client certificate that it trusts',
    isHopeless: true,
  },
  { said: /wrong version number|packet length too long/, reason: 'it does not speak TLS', isHopeless: true },
  {
    said: /certificate|altnames|self.signed/i,
    reason: 'its certificate is not trusted',
    isHopeless: true,
    isOfCertificate: true,
  },
  { said: /Protocol error/, reason: 'it does not speak gRPC', isHopeless: true },
];

/** In words that come after the server's address. */
async function whyUnanswered(error: CallError, place: GrpcPlace): Promise<string> {
  const { code } = error;
  if (code === Status.DEADLINE_EXCEEDED)
    return `${wasNeverSent(error) ? 'cannot be reached: it ' : ''}did not answer in time`;
  if (!CUT.has(code))
    return `answered with ${Status[code]} and not as a Darkroom service of this version does; check the address`;
  const why = whyUnconnected(error);
  const looked = why?.isOfCertificate ? await certificateFault(place, Date.now()) : undefined;
  return `cannot be reached: ${looked ?? why?.reason ?? `the connection was cut${wasNeverSent(error) ? guess(place.tls) : ''}`}`;
}

/** Why a server may have closed the connection before the call was sent. */
function guess(tls: GrpcPlace['tls']): string {
  if (tls === undefined) return '; if it requires TLS, write https:// before it';
  return tls.cert === undefined ? '' : ', as by a server that does not accept the client certificate';
}

function whyUnconnected(error: CallError): Reason | undefined {
  return wasNeverSent(error) ? REASONS.find(({ said }) => said.test(error.details)) : undefined;
}

/** Whether no server was reached that it could have been sent to. The library says so in words alone. */
function wasNeverSent({ code, details }: CallError): boolean {
  if (code === Status.DEADLINE_EXCEEDED)
    return /,(?:waiting for name resolution|waiting for metadata filters|Waiting for LB pick)$/.test(details);
  return /^(?:No connection established|Name resolution failed)/.test(details);
}

/** Whether sending the call again, later, can help. */
function mayHelpLater(error: CallError): boolean {
  if (error.code === Status.RESOURCE_EXHAUSTED) return readRefusal(error)?.retryAfterMs !== undefined;
  return CUT.has(error.code) && whyUnconnected(error)?.isHopeless !== true;
}

/**
 * Whether the call may have had an effect: it was sent to a server with this method, and no Darkroom server refused it.
 * A server that could not answer may have done it, and so may one whose answer a proxy dropped.
 */
function mayHaveHappened(error: CallError): boolean {
  if (wasNeverSent(error) || error.code === Status.UNIMPLEMENTED) return false;
  const refusal = readRefusal(error);
  // Its request never arrived, so the server has not read it.
  if (refusal?.code === 'REQUEST_TIMEOUT') return false;
  return refusal === undefined || !(OF_USE_CASES.has(error.code) || OF_WHO_CALLS.has(error.code));
}

/** For a call with all its tries, without the time that the server itself has asked to wait. */
const CALL_MS = 60_000;
/** The longest that a server may ask to wait before a try: rates are by the minute. */
const MAX_ASKED_MS = 60_000;
/** A wait longer than this is announced on the terminal. */
const NOTICED_MS = 2_000;

const OPTIONS: ClientOptions = {
  // A page of 1,000 lines with the longest possible texts.
  'grpc.max_receive_message_length': 16 << 20,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // Detects a server that has disappeared during a long call.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  // Requests go directly to the address that the user named.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  // A run does not share connection state with another run in this process.
  'grpc.use_local_subchannel_pool': 1,
};

/** The operator's services of a remote server. Throws `Failure` for invalid options; nothing is sent yet. */
export function openGrpcOperator(
  io: CliIo,
  options: GrpcOptions,
): { readonly operator: OperatorClient; readonly close: () => void } {
  const calls = new GrpcCalls(readGrpcPlace(io, options), (sentence) => say(io, sentence));
  return {
    operator: operatorClient((method, request, callOptions) => calls.call(method, request, callOptions)),
    close: () => calls.close(),
  };
}

/**
 * Calls a server's gRPC front. Calls that may succeed later are repeated a bounded number of times, if the proto
 * files declare the method repeatable or the call cannot have arrived.
 */
export class GrpcCalls {
  private readonly client: Client;

  /**
   * Connects with the first call. `tell` receives the sentence for the user when a call waits for a long time. Throws
   * `Failure` if the files do not contain certificates and a key.
   */
  constructor(
    private readonly place: GrpcPlace,
    private readonly tell: (sentence: string) => void = () => undefined,
  ) {
    const { address, host, tls } = place;
    // The library would send an IP address as a server name, which TLS does not allow and Node warns about.
    const nameless = tls !== undefined && isIP(host) !== 0 ? { 'grpc.ssl_target_name_override': 'localhost' } : {};
    this.client = new Client(`dns:${address}`, channelTo(place), { ...OPTIONS, ...nameless });
  }

  /**
   * Throws the error that `callFailure` returns for the last try, wrapped in `OutcomeUnknown` if that try or an
   * earlier one may have been executed and its response was lost. Even if the last try is refused, for example
   * because the token was revoked in the meantime, an earlier one may have been executed.
   */
  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    { timeoutMs = CALL_MS }: CallOptions = {},
  ): Promise<MessageShape<O>> {
    let deadline = Date.now() + timeoutMs;
    const mayRepeat = method.idempotency !== Idempotency.IDEMPOTENCY_UNKNOWN;
    const hasEffect = method.idempotency !== Idempotency.NO_SIDE_EFFECTS;
    let mayBeDone = false;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.send(method, create(method.input, init), deadline);
      } catch (thrown) {
        const error = thrown as CallError;
        mayBeDone ||= hasEffect && mayHaveHappened(error);
        const { code = '', retryAfterMs = 0 } = readRefusal(error) ?? {};
        const isRepeated =
          tries < MAX_TRIES && mayHelpLater(error) && retryAfterMs <= MAX_ASKED_MS && (mayRepeat || !mayBeDone);
        if (!isRepeated) {
          const failure = await callFailure(error, this.place);
          if (mayBeDone) throw new OutcomeUnknown(failure);
          throw hasEffect && wasNeverSent(error) ? withMore(failure, 'Nothing was done.') : failure;
        }
        if (retryAfterMs > NOTICED_MS)
          this.tell(
            `darkroom: The server asks to wait (${printable(code)}); continuing in ${Math.ceil(retryAfterMs / 1_000)} seconds, Ctrl-C exits.`,
          );
        deadline += retryAfterMs;
        await sleep(retryAfterMs || backOffMs(tries));
      }
    }
  }

  close(): void {
    this.client.close();
  }

  private send<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    deadline: number,
  ): Promise<MessageShape<O>> {
    const { path, requestSerialize, responseDeserialize } = methodDefinition(method);
    const metadata = new Metadata();
    if (this.place.token !== undefined) metadata.set('authorization', `Bearer ${this.place.token}`);
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        { deadline },
        (error, answer) => {
          if (error) reject(error);
          else resolve(answer as MessageShape<O>);
        },
      );
    });
  }
}

function channelTo({ host, tls }: GrpcPlace): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const { ca = null, key = null, cert = null } = tls;
  try {
    return credentials.createSsl(ca, key, cert, {
      checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
    });
  } catch (error) {
    throw new Failure(
      '--grpc-ca, --grpc-cert and --grpc-key cannot be used for TLS: a key or a signature is weaker than it allows.',
      EXIT.usage,
      {},
      error,
    );
  }
}
