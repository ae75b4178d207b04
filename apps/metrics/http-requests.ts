import { Counter, Gauge, type Registry } from 'prom-client';
import type { AnsweredRequest, ConnectionRefusal, HttpObserver } from '../http/host/http-observer.js';
import type { BoundRefusals } from './bound-refusals.js';
import { PreparedHistogram } from './prepared-histogram.js';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
/** The parser knows some thirty methods more, none of which has a route. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
const REFUSALS: readonly ConnectionRefusal[] = ['full', 'full_for_address', 'malformed', 'headers_too_long', 'timeout'];

/** What was answered on one route by one method. */
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
      buckets: SECONDS,
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

  begun(): void {
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
