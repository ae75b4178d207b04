import { readdir } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import type { Counter, Gauge } from 'prom-client';
import type { Log } from '../../core/log.js';
import type { Instruments } from './instruments.js';

const SAMPLE_MS = 50;
const DELAY_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/**
 * The resources that the process uses, under the names that dashboards expect, and how busy its main thread is. The
 * library has its own set for that, which also observes every garbage collection; that is more than we need.
 */
export function processUse({ counter, gauge, histogram }: Instruments) {
  const delays = histogram(
    'darkroom_event_loop_delay_seconds',
    'How late timers fire on the main thread, sampled 20 times a second.',
    DELAY_SECONDS,
  );
  /** A counter of something that is counted elsewhere. */
  const countTotal = (name: string, help: string, read: () => number): void => {
    const total: Counter = counter(name, help, [], () => {
      total.reset();
      total.inc(read());
    });
  };
  const gaugeOf = (name: string, help: string, read: () => number | Promise<number>): void => {
    const made: Gauge = gauge(name, help, [], async () => made.set(await read()));
  };
  countTotal(
    'darkroom_event_loop_active_seconds_total',
    'Time during which the main thread was busy.',
    () => performance.eventLoopUtilization().active / 1_000,
  );
  countTotal('process_cpu_seconds_total', 'Processor time of all threads, user and system.', cpuSeconds);
  gaugeOf(
    'process_start_time_seconds',
    'When the process started, since the epoch.',
    () => performance.timeOrigin / 1_000,
  );
  gaugeOf('process_resident_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss());
  gaugeOf('process_open_fds', 'Open files and sockets; 0 if the system does not report them.', openFiles);
  gaugeOf('nodejs_heap_size_total_bytes', 'Heap the runtime has taken.', () => process.memoryUsage().heapTotal);
  gaugeOf('nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed);
  gaugeOf(
    'nodejs_external_memory_bytes',
    'Memory of buffers and other objects outside the heap.',
    () => process.memoryUsage().external,
  );
  gauge('nodejs_version_info', 'The runtime.', ['version']).set({ version: process.version }, 1);
  return {
    /** Begins to look how late the main thread is, once and until the process ends, which it does not keep alive. */
    start(): void {
      let expectedAt = performance.now() + SAMPLE_MS;
      setInterval(() => {
        const now = performance.now();
        delays.observe(Math.max(0, now - expectedAt) / 1_000);
        expectedAt = now + SAMPLE_MS;
      }, SAMPLE_MS).unref();
    },
  };
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
export function warnings({ counter }: Instruments) {
  const counts = counter('darkroom_warnings_total', 'Warnings in the log, by event.', ['event']);
  const events = new Set<string>();
  const bounded = (event: string): string => {
    if (!events.has(event) && events.size >= MAX_EVENTS) return 'other';
    events.add(event);
    return event;
  };
  return {
    /** The same log, its warnings counted. */
    counted: (log: Log): Log => ({
      info: (event, about) => log.info(event, about),
      warn: (event, about) => {
        counts.inc({ event: bounded(event) });
        log.warn(event, about);
      },
    }),
  };
}
