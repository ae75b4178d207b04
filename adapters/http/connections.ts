import type { Socket } from 'node:net';
import { Agent, Client, type Dispatcher } from 'undici';
import { ConnectionSlots } from './connection-slots.js';
import type { Connect } from './guarded-connector.js';

/** What sends one request. */
export interface Connection {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** Nothing more of the request is sent, also of what the operating system has taken and not sent yet, if it can be. */
  cut(): void;
  /** The request and its answer are complete. */
  end(): void;
}

/** The connections of one kind. */
export interface Connections {
  /** Who may use one. */
  readonly slots: ConnectionSlots;
  open(origin: string): Connection;
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly connect: Connect;
  readonly perOrigin: number;
  readonly maxHeaderBytes: number;
  readonly keepAliveMs: number;
}

/** Connections that are kept, and serve one request after another. */
export class PooledConnections implements Connections {
  readonly slots: ConnectionSlots;
  private readonly agent: Agent;

  constructor({ connect, perOrigin, maxHeaderBytes, keepAliveMs }: ConnectionsOptions) {
    this.slots = new ConnectionSlots(perOrigin);
    this.agent = new Agent({
      connect,
      connections: perOrigin,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
    });
  }

  open(): Connection {
    const { agent } = this;
    return {
      dispatch: (options, handler) => void agent.dispatch(options, handler),
      // The library destroys the connection of a request that is aborted.
      cut: () => undefined,
      end: () => undefined,
    };
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }
}

/** A connection for each request. */
export class OwnConnections implements Connections {
  readonly slots: ConnectionSlots;

  constructor(private readonly options: ConnectionsOptions) {
    this.slots = new ConnectionSlots(options.perOrigin);
  }

  open(origin: string): Connection {
    return new OwnConnection(origin, this.options);
  }

  /** Each ends with its request. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}

class OwnConnection implements Connection {
  private readonly client: Client;
  private tcp: Socket | undefined;
  private isCut = false;

  constructor(origin: string, { connect, maxHeaderBytes }: ConnectionsOptions) {
    this.client = new Client(origin, {
      connect: (options, callback) => connect(options, callback, (tcp) => this.has(tcp)),
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Each request says that the connection closes behind it.
      pipelining: 0,
    });
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.client.dispatch(options, handler);
  }

  /** A reset: closed in any other way, a connection sends first what the operating system has taken. */
  cut(): void {
    this.isCut = true;
    if (this.tcp?.connecting === false && !this.tcp.destroyed) this.tcp.resetAndDestroy();
    else this.tcp?.destroy();
    this.end();
  }

  end(): void {
    // The library may be calling this, and is not done with its connection.
    queueMicrotask(() => void this.client.destroy());
  }

  private has(tcp: Socket): void {
    this.tcp = tcp;
    if (this.isCut) tcp.destroy();
  }
}
