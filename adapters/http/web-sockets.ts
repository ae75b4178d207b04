import { Agent, WebSocket, type buildConnector } from 'undici';
import { readTarget } from './target.js';

/** One connection that receives texts from a server. */
export interface TextSocket {
  /** Closes it; nothing more is received. */
  close(): void;
}

export interface TextSocketRequest {
  /** http or https: the address of the upgrade. */
  readonly url: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly onText: (text: string) => void;
  /** Once, when the connection has ended or was never made; not after `close`. */
  readonly onEnd: () => void;
}

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * WebSockets through the connections of a guarded client. Binary messages are passed over, and one message has at most
 * 16 MiB: a longer one ends the connection.
 */
export class WebSockets {
  private readonly dispatcher: Agent;
  private readonly open = new Set<WebSocket>();
  private isClosed = false;

  constructor(connect: buildConnector.connector) {
    this.dispatcher = new Agent({ connect, webSocket: { maxPayloadSize: MAX_MESSAGE_BYTES } });
  }

  /** Throws `HttpError` for an address that cannot be one. */
  receive({ url, headers = {}, onText, onEnd }: TextSocketRequest): TextSocket {
    const { origin, path } = readTarget(url);
    const address = (origin + path).replace(/^http/, 'ws');
    const socket = new WebSocket(address, { dispatcher: this.dispatcher, headers: { ...headers } });
    socket.binaryType = 'arraybuffer';
    let isOver = this.isClosed;
    socket.addEventListener('message', ({ data }) => {
      if (!isOver && typeof data === 'string') onText(data);
    });
    // It is followed by a close.
    socket.addEventListener('error', () => undefined);
    socket.addEventListener('close', () => {
      this.open.delete(socket);
      if (isOver) return;
      isOver = true;
      onEnd();
    });
    this.open.add(socket);
    const close = () => {
      isOver = true;
      socket.close();
    };
    if (isOver) close();
    return { close };
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const socket of this.open) socket.close();
    await this.dispatcher.destroy();
  }
}
