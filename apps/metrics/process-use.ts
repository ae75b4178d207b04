import { readdir } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Log } from '../../core/log.js';

const SAMPLE_MS = 50;
const DELAY_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/**
 * The resources that the process uses, under the names that dashboards expect, and how busy its main thread is. The
 * library has its own set for that, which also observes every garbage collection; that is more than we need.
 */
export class ProcessUse {
  private readonly delays: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    this.delays = new Histogram({
      name: 'darkroom_event_loop_delay_seconds',
      help: 'How late timers fire on the main thread, sampled 20 times a second.',
      buckets: DELAY_SECONDS,
      registers,
    });
    countTotal(
      registry,
      'darkroom_event_loop_active_seconds_total',
      'Time during which the main thread was busy.',
      () => performance.eventLoopUtilization().active / 1_000,
    );
    countTotal(registry, 'process_cpu_seconds_total', 'Processor time of all threads, user and system.', cpuSeconds);
    gaugeOf(
      registry,
      'process_start_time_seconds',
      'When the process started, since the epoch.',
      () => performance.timeOrigin / 1_000,
    );
    gaugeOf(registry, 'process_resident_memory_bytes', 'Resident memory of the process.', () =>
      process.memoryUsage.rss(),
    );
    gaugeOf(registry, 'process_open_fds', 'Open files and sockets; 0 if the system does not report them.', openFiles);
    gaugeOf(
      registry,
      'nodejs_heap_size_total_bytes',
      'Heap the runtime has taken.',
      () => process.memoryUsage().heapTotal,
    );
    gaugeOf(registry, 'nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed);
    gaugeOf(
      registry,
      'nodejs_external_memory_bytes',
      'Memory of buffers and other objects outside the heap.',
      () => process.memoryUsage().external,
    );
    new Gauge({ name: 'nodejs_version_info', help: 'The runtime.', labelNames: ['version'], registers }).set(
      { version: process.version },
      1,
    );
  }

  /** Begins to look how late the main thread is, once and until the process ends, which it does not keep alive. */
  start(): void {
    let expectedAt = performance.now() + SAMPLE_MS;
    setInterval(() => {
      const now = performance.now();
      this.delays.observe(Math.max(0, now - expectedAt) / 1_000);
      expectedAt = now + SAMPLE_MS;
    }, SAMPLE_MS).unref();
  }
}

/** A counter of something that is counted elsewhere: read at every scrape. */
function countTotal(registry: Registry, name: string, help: string, read: () => number): Counter {
  const counter: Counter = new Counter({
    name,
    help,
    registers: [registry],
    collect: () => {
      counter.reset();
      counter.inc(read());
    },
  });
  return counter;
}

function gaugeOf(registry: Registry, name: string, help: string, read: () => number | Promise<number>): Gauge {
  const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: async () => gauge.set(await read()) });
  return gauge;
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}

function openFiles(): Promise<number> {
  return readdir('/proc/self/fd').then(
    (names) => names.length,
    () => 0,
  );
}

/** Events are constants of the program; should one ever not be, it must not grow the label without bound. */
const MAX_EVENTS = 100;

/** The warnings of the log, counted by event: what recovery will do again, by how often that is needed. */
export class Warnings {
  private readonly warnings: Counter<'event'>;
  private readonly events = new Set<string>();

  constructor(registry: Registry) {
    this.warnings = new Counter({
      name: 'darkroom_warnings_total',
      help: 'Warnings in the log, by event.',
      labelNames: ['event'],
      registers: [registry],
    });
  }

  /** The same log, its warnings counted. */
  counted(log: Log): Log {
    return {
      info: (event, about) => log.info(event, about),
      warn: (event, about) => {
        this.warnings.inc({ event: this.bounded(event) });
        log.warn(event, about);
      },
    };
  }

  private bounded(event: string): string {
    if (!this.events.has(event) && this.events.size >= MAX_EVENTS) return 'other';
    this.events.add(event);
    return event;
  }
}
