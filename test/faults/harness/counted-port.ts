import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Span } from '../../history/recorded/history.js';

/**
 * Forwards everything between its own port and another, and counts the incoming data: what a process sends while its
 * link is in trouble.
 *
 * A connection to the other port is ended, never destroyed, and read to its end. Toxiproxy 2.5.0, which listens there,
 * stops for ever when a toxic is added or removed while it has bytes for a closed connection.
 */
export class CountedPort {
  /** Chunks of data received from clients: about one per request. */
  received = 0;
  private readonly clients = new Set<Socket>();
  private readonly upstreams = new Set<Socket>();
  private readonly server: Server;
  private changes = 0;

  private constructor(private readonly upstreamPort: number) {
    this.server = createServer((socket) => this.pass(socket));
  }

  static async open(upstreamPort: number): Promise<CountedPort> {
    const port = new CountedPort(upstreamPort);
    port.server.listen(0, '127.0.0.1');
    await once(port.server, 'listening');
    return port;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /**
   * Runs a change behind the other port while all data from its connections is read, even for clients that do not read.
   */
  async reading<T>(change: () => Promise<T>): Promise<T> {
    this.changes += 1;
    for (const upstream of this.upstreams) upstream.resume();
    try {
      return await change();
    } finally {
      this.changes -= 1;
    }
  }

  async close(): Promise<void> {
    this.server.close();
    for (const socket of [...this.clients, ...this.upstreams]) socket.destroy();
    await once(this.server, 'close');
  }

  private pass(client: Socket): void {
    const upstream = connect({ host: '127.0.0.1', port: this.upstreamPort });
    client.on('data', () => {
      this.received += 1;
    });
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      if (!client.destroyed && !client.write(bytes) && this.changes === 0) upstream.pause();
    });
    client.on('drain', () => upstream.resume());
    upstream.on('end', () => client.end());
    upstream.on('error', () => client.resetAndDestroy());
    upstream.on('close', () => {
      this.upstreams.delete(upstream);
      client.destroy();
    });
    client.on('error', () => undefined);
    client.on('close', () => {
      this.clients.delete(client);
      upstream.end();
      upstream.resume();
    });
    this.clients.add(client);
    this.upstreams.add(upstream);
    for (const socket of [client, upstream]) socket.setNoDelay(true);
  }
}

/**
 * The share of its time that a process may wait for a processor before its timeouts no longer prove anything about the
 * program.
 */
export const MOST_WAITING = 0.75;

interface Sample {
  readonly at: number;
  readonly waitedMs: number;
}

export interface ProcessorWaitsOptions {
  readonly pids: () => readonly number[];
  /** In milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * How long the main thread of a process has waited for a processor so far, in milliseconds; undefined when
   * unavailable.
   */
  readonly waitedMs?: (pid: number) => number | undefined;
}

/**
 * Periods in which processes were ready to run and did not, as counted by the kernel: on an overloaded machine, leases
 * and calls time out without any fault. Only Linux reports this; elsewhere there are no such periods.
 */
export class ProcessorWaits {
  /** Intervals between two looks in which a process waited for more than `MOST_WAITING` of the time. */
  readonly spans: Span[] = [];
  private samples = new Map<number, Sample>();

  constructor(private readonly options: ProcessorWaitsOptions) {}

  /** Call this about once per second. */
  look(): void {
    const { pids, now, waitedMs = waitedMsOf } = this.options;
    const samples = new Map<number, Sample>();
    for (const pid of pids()) {
      const waited = waitedMs(pid);
      if (waited !== undefined) samples.set(pid, { at: now(), waitedMs: waited });
    }
    const late = [...samples].flatMap(([pid, sample]) => {
      const before = this.samples.get(pid);
      return before !== undefined && isStarved(before, sample) ? [{ from: before.at, until: sample.at }] : [];
    });
    this.spans.push(...late);
    this.samples = samples;
  }
}

function isStarved(before: Sample, after: Sample): boolean {
  return after.waitedMs - before.waitedMs > MOST_WAITING * (after.at - before.at);
}

/** The second number of the file, in nanoseconds. */
function waitedMsOf(pid: number): number | undefined {
  try {
    const waited = Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
    return Number.isFinite(waited) ? waited : undefined;
  } catch {
    return undefined;
  }
}
