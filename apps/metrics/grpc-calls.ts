import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { CallObserver, EndedCall } from '../grpc/calls/call-observer.js';
import type { BoundRefusals } from './bound-refusals.js';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600];

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
      buckets: SECONDS,
      registers,
    });
    this.underWay = new Gauge({
      name: 'darkroom_grpc_calls_in_flight',
      help: 'gRPC calls being answered, streams among them.',
      registers,
    });
  }

  begun(): void {
    this.underWay.inc();
  }

  ended({ method, code, bound, durationMs }: EndedCall): void {
    this.bounds.note(bound);
    this.underWay.dec();
    this.calls.inc({ method, code: code ?? 'OK' });
    this.durations.observe({ method }, durationMs / 1_000);
  }
}
