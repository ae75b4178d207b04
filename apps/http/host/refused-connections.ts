import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '../../../core/errors.js';
import type { Ids } from '../../../core/ports/ids.js';
import { errorEnvelope } from './envelope.js';
import type { ConnectionRefusal, HttpObserver } from './http-observer.js';
import { endAfterWaiting } from './in-turn.js';
import { STATUSES } from './statuses.js';

const CLOSE_AFTER_MS = 1_000;

/**
 * Answers what the runtime's HTTP parser refuses, in the envelope like everything else: two lengths, a length with
 * chunks, folded headers, headers too long, requests that do not arrive in time.
 */
export function answerRefusedConnections(server: Server, ids: Pick<Ids, 'uuid'>, observer?: HttpObserver): void {
  server.on('drop', () => observer?.refused('full'));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: AnsweringSocket) => {
    const { _httpMessage: underWay } = socket;
    if (error.code === 'ECONNRESET' || !socket.writable || underWay?.headersSent === true) {
      socket.destroy();
      return;
    }
    const [code, message, reason] = refusalOf(error.code);
    observer?.refused(reason);
    if (underWay?.req.complete === true) {
      // The fault came after this request and those that wait, which may be accepted; a refusal now would be taken for
      // their answer. The answer of the last of them is the last on the connection.
      (endAfterWaiting(socket) ?? underWay).shouldKeepAlive = false;
      socket.pause();
      return;
    }
    const text = errorEnvelope(ids.uuid(), code, message);
    socket.on('error', () => socket.destroy());
    socket.end(rawAnswer(STATUSES[code], text));
    setTimeout(() => socket.destroy(), CLOSE_AFTER_MS).unref();
  });
}

/** The runtime keeps the current answer here. A second head within an answer would be read as part of it. */
type AnsweringSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

function refusalOf(runtimeCode: string | undefined): readonly [ErrorCode, string, ConnectionRefusal] {
  if (runtimeCode === 'ERR_HTTP_REQUEST_TIMEOUT')
    return ['REQUEST_TIMEOUT', 'The request did not arrive in time.', 'timeout'];
  if (runtimeCode === 'HPE_HEADER_OVERFLOW')
    return ['BODY_INVALID', 'The headers of the request are too long.', 'headers_too_long'];
  return ['BODY_INVALID', 'The request is not valid HTTP/1.1.', 'malformed'];
}

const REASONS: Readonly<Record<number, string>> = { 400: 'Bad Request', 408: 'Request Timeout' };

function rawAnswer(status: number, text: string): string {
  return [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    text,
  ].join('\r\n');
}
