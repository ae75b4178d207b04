import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AnsweredRequest, ConnectionRefusal, HttpObserver } from '../rest/http-observer.js';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
/** The parser knows some thirty methods more, none of which has a route. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
const REFUSALS: readonly ConnectionRefusal[] = ['full', 'malformed', 'headers_too_long', 'timeout'];

/** The requests of the REST front. A route is told by its pattern, so that ids never become labels. */
export class HttpRequests implements HttpObserver {
  private readonly requests: Counter<'route' | 'method' | 'status'>;
  private readonly durations: Histogram<'route' | 'method'>;
  private readonly underWay: Gauge;
  private readonly refusals: Counter<'route' | 'code'>;
  private readonly connectionsRefused: Counter<'reason'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.requests = new Counter({ name: 'darkroom_http_requests_total', help: 'REST requests answered.', labelNames: ['route', 'method', 'status'], registers });
    this.durations = new Histogram({
      name: 'darkroom_http_request_duration_seconds', help: 'Time from the headers of a REST request to its answer, bytes of signed objects included.',
      labelNames: ['route', 'method'], buckets: SECONDS, registers,
    });
    this.underWay = new Gauge({ name: 'darkroom_http_requests_in_flight', help: 'REST requests being answered.', registers });
    this.refusals = new Counter({ name: 'darkroom_http_refusals_total', help: 'REST requests refused, by error code.', labelNames: ['route', 'code'], registers });
    this.connectionsRefused = new Counter({
      name: 'darkroom_http_connections_refused_total', help: 'Connections turned away, and those whose bytes were no request.', labelNames: ['reason'], registers,
    });
    for (const reason of REFUSALS) this.connectionsRefused.inc({ reason }, 0);
  }

  begun(): void {
    this.underWay.inc();
  }

  ended({ method: sent, route = 'none', status, code, durationMs }: AnsweredRequest): void {
    const method = METHODS.has(sent) ? sent : 'other';
    this.underWay.dec();
    this.requests.inc({ route, method, status });
    this.durations.observe({ route, method }, durationMs / 1_000);
    if (code !== undefined) this.refusals.inc({ route, code });
  }

  refused(reason: ConnectionRefusal): void {
    this.connectionsRefused.inc({ reason });
  }
}
