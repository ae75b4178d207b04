import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Bound } from '../../core/errors.js';
import type { CallObserver, EndedCall } from '../grpc/serve-call.js';
import type { AnsweredRequest, ConnectionRefusal, HttpObserver } from '../http/host/http-context.js';
import { PreparedHistogram } from './prepared-histogram.js';

const BOUNDS: Readonly<Record<Bound, true>> = {
  open_generations: true,
  uncharged_content_bytes: true,
  unfinished_uploads: true,
  stored_uploads: true,
  stored_upload_bytes: true,
};

/**
 * Requests refused over either front because an account or an App has reached a bound. How much it has is for
 * `accounts show`.
 */
export class BoundRefusals {
  private readonly refusals: Counter<'bound'>;

  constructor(registry: Registry) {
    this.refusals = new Counter({
      name: 'darkroom_bound_refusals_total',
      help: 'Requests refused with QUEUE_FULL, by the bound that was reached.',
      labelNames: ['bound'],
      registers: [registry],
    });
    for (const bound of Object.keys(BOUNDS)) this.refusals.inc({ bound }, 0);
  }

  /** One request was answered; `bound` is what it was refused for, if it was. */
  note(bound: Bound | undefined): void {
    if (bound !== undefined) this.refusals.inc({ bound });
  }
}

const REST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
/** The parser knows some thirty methods more, none of which has a route. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
const REFUSALS: readonly ConnectionRefusal[] = ['full', 'full_for_address', 'malformed', 'headers_too_long', 'timeout'];

/** The responses on one route by one method. */
interface Answered {
  readonly route: string;
  readonly method: string;
  readonly countByStatus: Map<number, number>;
  readonly observe: (seconds: number) => void;
}

/** The requests of the REST front. The label of a route is its pattern, so that ids never become labels. */
export class HttpRequests implements HttpObserver {
  private readonly requests: Counter<'route' | 'method' | 'status'>;
  private readonly durations: PreparedHistogram<'route' | 'method'>;
  private readonly answered = new Map<string, Map<string, Answered>>();
  private readonly underWay: Gauge;
  private readonly refusals: Counter<'route' | 'code'>;
  private readonly connectionsRefused: Counter<'reason'>;

  constructor(
    registry: Registry,
    private readonly bounds: BoundRefusals,
  ) {
    const registers = [registry];
    this.requests = new Counter({
      name: 'darkroom_http_requests_total',
      help: 'REST requests answered.',
      labelNames: ['route', 'method', 'status'],
      registers,
      collect: () => this.collectRequests(),
    });
    this.durations = new PreparedHistogram({
      name: 'darkroom_http_request_duration_seconds',
      help: 'Time from the headers of a REST request to its answer, bytes of signed objects included.',
      labelNames: ['route', 'method'],
      buckets: REST_SECONDS,
      registers,
    });
    this.underWay = new Gauge({
      name: 'darkroom_http_requests_in_flight',
      help: 'REST requests being answered.',
      registers,
    });
    this.refusals = new Counter({
      name: 'darkroom_http_refusals_total',
      help: 'REST requests refused, by error code.',
      labelNames: ['route', 'code'],
      registers,
    });
    this.connectionsRefused = new Counter({
      name: 'darkroom_http_connections_refused_total',
      help: 'Connections refused, and those whose bytes were not a request.',
      labelNames: ['reason'],
      registers,
    });
    for (const reason of REFUSALS) this.connectionsRefused.inc({ reason }, 0);
  }

  started(): void {
    this.underWay.inc();
  }

  ended({ method: sent, route = 'none', status, code, bound, durationMs }: AnsweredRequest): void {
    this.bounds.note(bound);
    this.underWay.dec();
    const { countByStatus, observe } = this.answeredOn(route, METHODS.has(sent) ? sent : 'other');
    countByStatus.set(status, (countByStatus.get(status) ?? 0) + 1);
    observe(durationMs / 1_000);
    if (code !== undefined) this.refusals.inc({ route, code });
  }

  refused(reason: ConnectionRefusal): void {
    this.connectionsRefused.inc({ reason });
  }

  private answeredOn(route: string, method: string): Answered {
    let byMethod = this.answered.get(route);
    if (byMethod === undefined) this.answered.set(route, (byMethod = new Map<string, Answered>()));
    let answered = byMethod.get(method);
    if (answered === undefined)
      byMethod.set(
        method,
        (answered = { route, method, countByStatus: new Map(), observe: this.durations.prepare({ route, method }) }),
      );
    return answered;
  }

  /** Counted here with every request, and handed over at a scrape. */
  private collectRequests(): void {
    this.requests.reset();
    for (const { route, method, countByStatus } of [...this.answered.values()].flatMap((byMethod) => [
      ...byMethod.values(),
    ])) {
      for (const [status, count] of countByStatus) this.requests.inc({ route, method, status }, count);
    }
  }
}

const GRPC_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600];

/** The calls of the gRPC front. Methods are those of the proto files: no call with another name gets here. */
export class GrpcCalls implements CallObserver {
  private readonly calls: Counter<'method' | 'code'>;
  private readonly durations: Histogram<'method'>;
  private readonly underWay: Gauge;

  constructor(
    registry: Registry,
    private readonly bounds: BoundRefusals,
  ) {
    const registers = [registry];
    this.calls = new Counter({
      name: 'darkroom_grpc_calls_total',
      help: 'gRPC calls answered, by error code; OK for success, CANCELLED and DEADLINE_EXCEEDED if the caller no longer waited for the answer.',
      labelNames: ['method', 'code'],
      registers,
    });
    this.durations = new Histogram({
      name: 'darkroom_grpc_call_duration_seconds',
      help: 'Time from a gRPC call to its end; of a stream, all of it.',
      labelNames: ['method'],
      buckets: GRPC_SECONDS,
      registers,
    });
    this.underWay = new Gauge({
      name: 'darkroom_grpc_calls_in_flight',
      help: 'gRPC calls being answered, streams among them.',
      registers,
    });
  }

  started(): void {
    this.underWay.inc();
  }

  ended({ method, code, bound, durationMs }: EndedCall): void {
    this.bounds.note(bound);
    this.underWay.dec();
    this.calls.inc({ method, code: code ?? 'OK' });
    this.durations.observe({ method }, durationMs / 1_000);
  }
}
