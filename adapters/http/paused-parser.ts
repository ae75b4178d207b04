import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** What undici keeps at a connection to parse its answers. */
interface Parser {
  paused: boolean;
  /** Of the answer that has begun and not ended; 0 without one. */
  readonly statusCode: number;
  shouldKeepAlive: boolean;
  resume(): void;
  onHeadersComplete(status: number, ...more: readonly unknown[]): unknown;
  readonly ptr: unknown;
  readonly llhttp: { llhttp_resume(ptr: unknown): void };
}

/** The name of undici's own property. A test fails where a version has another one. */
const PARSER = 'parser';

/**
 * undici 7 takes the end of a connection whose answer is held back for a mistake of its own, and throws where nobody can
 * catch it: nodejs/undici#5360. That is the end of every answer whose last piece its reader was not ready for. So the
 * parser goes on before undici hears of the end; nothing is left to come, so no more is held in memory.
 *
 * It also takes any end of a connection for the end of an answer that has no other, a reset or a call that was left
 * included. Then it throws in the same way, or reports a broken answer as whole. An answer on a connection that is kept
 * does not end with it, so these connections count as kept. `tcp` is the connection under TLS, or the same one. To be called
 * before undici has the socket.
 */
export function resumeAtEnd(socket: Socket, tcp: Socket): void {
  socket.on('end', () => {
    const parser = parserAt(socket);
    if (parser === undefined) return;
    if (parser.paused) resume(parser);
    if (parser.statusCode !== 0 && !parser.shouldKeepAlive && wasReset(tcp)) parser.shouldKeepAlive = true;
  });
  for (const event of ['error', 'close']) {
    socket.on(event, () => {
      const parser = parserAt(socket);
      if (parser !== undefined) parser.shouldKeepAlive = true;
    });
  }
}

/**
 * A client has to accept a 100 that it did not ask for (RFC 9110, 15.2), which some servers send before a long answer. undici
 * ends the connection at it, and accepts any other interim answer. To be called when undici has the socket.
 */
export function acceptContinue(socket: Socket): void {
  const parser = parserAt(socket);
  if (parser === undefined) return;
  const complete = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, ...more) => complete(status === CONTINUE ? PROCESSING : status, ...more);
}

const [CONTINUE, PROCESSING] = [100, 102];

function resume(parser: Parser): void {
  parser.resume();
  // An answer that ends with its connection waits for the end itself, with nothing left to parse.
  if (!parser.paused) return;
  parser.llhttp.llhttp_resume(parser.ptr);
  parser.paused = false;
}

/**
 * Whether a connection that Node says has ended was reset. Where some of the last bytes were read with the news of a reset,
 * libuv reports an end and does not read on, and the error stays with the operating system: `uv__stream_io` of libuv, at
 * POLLHUP. A write of nothing sends nothing, and gets that error. Node replaces `write` of a socket that has ended.
 */
function wasReset(tcp: Socket): boolean {
  if (tcp.writable) Duplex.prototype.write.call(tcp, '', 'latin1');
  const { errored } = tcp;
  return errored !== null && 'code' in errored && errored.code === 'ECONNRESET';
}

function parserAt(socket: Socket): Parser | undefined {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === PARSER);
  const parser: unknown = symbol === undefined ? undefined : Object.getOwnPropertyDescriptor(socket, symbol)?.value;
  return isParser(parser) ? parser : undefined;
}

function isParser(value: unknown): value is Parser {
  return (
    typeof value === 'object' &&
    value !== null &&
    'paused' in value &&
    'resume' in value &&
    'onHeadersComplete' in value &&
    'llhttp' in value &&
    'statusCode' in value &&
    'shouldKeepAlive' in value
  );
}
