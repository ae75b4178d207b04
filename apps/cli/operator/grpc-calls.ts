import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkServerIdentity } from 'node:tls';
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt';
import {
  Client,
  credentials,
  Metadata,
  type ChannelCredentials,
  type ClientOptions,
  type ServiceError as CallError,
} from '@grpc/grpc-js';
import { methodDefinition } from '../../grpc/service-definition.js';
import { backOffMs, MAX_TRIES } from './back-off.js';
import { Failure, EXIT, withMore } from '../exit.js';
import { OutcomeUnknown } from '../outcome-unknown.js';
import { printable } from '../../logging/printable.js';
import { callFailure, mayHaveHappened, mayHelpLater, readRefusal, wasNeverSent } from './grpc-failure.js';
import type { GrpcPlace } from './grpc-place.js';

/** For a call with all its tries, without the time that the server itself has asked to wait. */
const CALL_MS = 60_000;
/** The longest that a server may ask to wait before a try: rates are by the minute. */
const MAX_ASKED_MS = 60_000;
/** A wait longer than this is announced on the terminal. */
const NOTICED_MS = 2_000;

const OPTIONS: ClientOptions = {
  // A page of 1,000 lines with the longest of texts.
  'grpc.max_receive_message_length': 16 << 20,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A server that is gone is noticed while a long call waits for it.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  // What is sent goes where it was meant to go.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  // A run knows nothing of what another one in this process has met.
  'grpc.use_local_subchannel_pool': 1,
};

/**
 * Calls a server's gRPC front. What may succeed later is sent again a bounded number of times, if the proto files say
 * that the method may be, or if it cannot have arrived.
 */
export class GrpcCalls {
  private readonly client: Client;

  /**
   * Connects with the first call. `tell` is given the sentence for the user when a call waits for long. Throws
   * `Failure` when the files are no certificates and key.
   */
  constructor(
    private readonly place: GrpcPlace,
    private readonly tell: (sentence: string) => void = () => undefined,
  ) {
    const { address, host, tls } = place;
    // The library would send an IP address as a server's name, which TLS does not allow and Node complains of.
    const nameless = tls !== undefined && isIP(host) !== 0 ? { 'grpc.ssl_target_name_override': 'localhost' } : {};
    this.client = new Client(`dns:${address}`, channelTo(place), { ...OPTIONS, ...nameless });
  }

  /**
   * Throws what `callFailure` makes of the last try; `OutcomeUnknown` around it when that, or a try before it, may have
   * been done and its answer was lost. Who is refused in the end, since a token was revoked meanwhile, may have been
   * obeyed in the beginning.
   */
  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    withinMs = CALL_MS,
  ): Promise<MessageShape<O>> {
    let deadline = Date.now() + withinMs;
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
