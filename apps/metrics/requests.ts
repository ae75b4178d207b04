import type { Bound } from '../../core/errors.js';
import type { CallObserver } from '../grpc/serve-call.js';
import type { ConnectionRefusal, HttpObserver } from '../http/host/http-context.js';
import type { Instruments } from './instruments.js';

const BOUNDS: Readonly<Record<Bound, true>> = {
  open_generations: true,
  uncharged_content_bytes: true,
  unfinished_uploads: true,
  stored_uploads: true,
  stored_upload_bytes: true,
};

/** One request was answered; `bound` is what it was refused for, if it was. */
export type NoteBound = (bound: Bound | undefined) => void;

/**
 * Requests refused over either front because an account or an App has reached a bound. How much it has is for
 * `accounts show`.
 */
export function boundRefusals({ counter }: Instruments): NoteBound {
  const refusals = counter(
    'darkroom_bound_refusals_total',
    'Requests refused with QUEUE_FULL, by the bound that was reached.',
    ['bound'],
  );
  for (const bound of Object.keys(BOUNDS)) refusals.inc({ bound }, 0);
  return (bound) => {
    if (bound !== undefined) refusals.inc({ bound });
  };
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
  /** Those that have the reason of a failed generation. */
  readonly failedByStatus: Map<number, number>;
  readonly observe: (seconds: number) => void;
}

/** The requests of the REST front. The label of a route is its pattern, so that ids never become labels. */
export function httpRequests({ counter, gauge, preparedHistogram }: Instruments, noteBound: NoteBound): HttpObserver {
  const answered = new Map<string, Map<string, Answered>>();
  const requests = counter(
    'darkroom_http_requests_total',
    'REST requests answered.',
    ['route', 'method', 'status', 'failed'],
    // Counted here with every request, and handed over at a scrape.
    () => {
      requests.reset();
      for (const byMethod of answered.values()) {
        for (const { route, method, countByStatus, failedByStatus } of byMethod.values()) {
          for (const [status, count] of countByStatus) requests.inc({ route, method, status }, count);
          for (const [status, count] of failedByStatus)
            requests.inc({ route, method, status, failed: 'generation' }, count);
        }
      }
    },
  );
  const durations = preparedHistogram(
    'darkroom_http_request_duration_seconds',
    'Time from the headers of a REST request to its answer, bytes of signed objects included.',
    REST_SECONDS,
    ['route', 'method'],
  );
  const underWay = gauge('darkroom_http_requests_in_flight', 'REST requests being answered.');
  const refusals = counter('darkroom_http_refusals_total', 'REST requests refused, by error code.', ['route', 'code']);
  const connectionsRefused = counter(
    'darkroom_http_connections_refused_total',
    'Connections refused, and those whose bytes were not a request.',
    ['reason'],
  );
  for (const reason of REFUSALS) connectionsRefused.inc({ reason }, 0);
  const answeredOn = (route: string, method: string): Answered => {
    let byMethod = answered.get(route);
    if (byMethod === undefined) answered.set(route, (byMethod = new Map<string, Answered>()));
    let onMethod = byMethod.get(method);
    if (onMethod === undefined) {
      onMethod = {
        route,
        method,
        countByStatus: new Map(),
        failedByStatus: new Map(),
        observe: durations.prepare({ route, method }),
      };
      byMethod.set(method, onMethod);
    }
    return onMethod;
  };
  return {
    started: () => underWay.inc(),
    ended({ method: sent, route = 'none', status, hasFailedGeneration, code, bound, durationMs }) {
      noteBound(bound);
      underWay.dec();
      const { countByStatus, failedByStatus, observe } = answeredOn(route, METHODS.has(sent) ? sent : 'other');
      const counts = hasFailedGeneration ? failedByStatus : countByStatus;
      counts.set(status, (counts.get(status) ?? 0) + 1);
      observe(durationMs / 1_000);
      if (code !== undefined) refusals.inc({ route, code });
    },
    refused: (reason) => connectionsRefused.inc({ reason }),
  };
}

const GRPC_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600];

/** The calls of the gRPC front. Methods are those of the proto files: no call with another name gets here. */
export function grpcCalls({ counter, gauge, histogram }: Instruments, noteBound: NoteBound): CallObserver {
  const calls = counter(
    'darkroom_grpc_calls_total',
    'gRPC calls answered, by error code; OK for success, CANCELLED and DEADLINE_EXCEEDED if the caller no longer waited for the answer.',
    ['method', 'code'],
  );
  const durations = histogram(
    'darkroom_grpc_call_duration_seconds',
    'Time from a gRPC call to its end; of a stream, all of it.',
    GRPC_SECONDS,
    ['method'],
  );
  const underWay = gauge('darkroom_grpc_calls_in_flight', 'gRPC calls being answered, streams among them.');
  return {
    started: () => underWay.inc(),
    ended({ method, code, bound, durationMs }) {
      noteBound(bound);
      underWay.dec();
      calls.inc({ method, code: code ?? 'OK' });
      durations.observe({ method }, durationMs / 1_000);
    },
  };
}
