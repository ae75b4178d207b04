import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/ports/machine.js';
import type { TextSocket } from '../../http/web-sockets.js';
import type { ComfyUiServer } from './comfyui-server.js';
import { NodesDone } from './nodes-done.js';

/** Tasks whose progress is kept; the oldest makes room. */
const MOST_TASKS = 2_000;
/** How long a connection that ended is not made again. */
const AGAIN_AFTER_MS = 10_000;

interface Listening {
  readonly clientId: string;
  readonly tokens: Set<string>;
  socket?: TextSocket;
  triedAt?: number;
}

interface Followed {
  readonly server: ComfyUiServer;
  readonly done: NodesDone;
}

/**
 * The progress of tasks that this process has submitted. A server reports it over a WebSocket to the client that has
 * submitted the task; there is one connection to each server while it has tasks. Everything else works without it.
 */
export class Progress {
  private readonly listening = new Map<ComfyUiServer, Listening>();
  private readonly followed = new Map<string, Followed>();
  private isClosed = false;

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** The client id for submitting a task with this number of nodes. */
  follow(server: ComfyUiServer, token: string, nodes: number): string {
    this.forget(token);
    for (const oldest of this.followed.keys()) {
      if (this.followed.size < MOST_TASKS) break;
      this.forget(oldest);
    }
    this.followed.set(token, { server, done: new NodesDone(nodes) });
    const listening = this.listening.get(server) ?? { clientId: randomUUID(), tokens: new Set() };
    this.listening.set(server, listening);
    listening.tokens.add(token);
    this.listen(server, listening);
    return listening.clientId;
  }

  /** From 0 to 1, and never less than before; undefined if the progress is unknown. */
  of(token: string): number | undefined {
    const followed = this.followed.get(token);
    const listening = followed && this.listening.get(followed.server);
    if (followed !== undefined && listening !== undefined) this.listen(followed.server, listening);
    return followed?.done.share;
  }

  /** The task has ended, or was not taken. */
  forget(token: string): void {
    const followed = this.followed.get(token);
    if (followed === undefined) return;
    this.followed.delete(token);
    const listening = this.listening.get(followed.server);
    listening?.tokens.delete(token);
    if (listening?.tokens.size !== 0) return;
    listening.socket?.close();
    delete listening.socket;
    delete listening.triedAt;
  }

  close(): void {
    this.isClosed = true;
    for (const { socket } of this.listening.values()) socket?.close();
  }

  private listen(server: ComfyUiServer, listening: Listening): void {
    const now = this.clock.now();
    const isTooSoon = listening.triedAt !== undefined && now - listening.triedAt < AGAIN_AFTER_MS;
    if (this.isClosed || listening.socket !== undefined || isTooSoon) return;
    listening.triedAt = now;
    const { client, credentials } = server.connection;
    const socket = client.receive({
      url: `${server.connection.urlOf('ws')}?clientId=${listening.clientId}`,
      headers: credentials,
      onText: (text) => this.hear(server, text),
      onEnd: () => {
        if (listening.socket === socket) delete listening.socket;
      },
    });
    listening.socket = socket;
  }

  private hear(server: ComfyUiServer, text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    const { data } = (message ?? {}) as { readonly data?: { readonly prompt_id?: unknown } };
    const followed = typeof data?.prompt_id === 'string' ? this.followed.get(data.prompt_id) : undefined;
    if (followed?.server === server) followed.done.hear(message);
  }
}
