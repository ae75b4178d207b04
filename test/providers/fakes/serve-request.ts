import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  deliver,
  deliverEarly,
  deliverHalf,
  deliverTrickling,
  deliverWithoutEnd,
  htmlAnswer,
} from './answer-delivery.js';
import { BodyTooLarge, fakeTime, formOf, readBody, type FakeRequest, type RequestRecord } from './fake-request.js';
import type { FaultInPlay } from './faults.js';
import type { FakeAnswer } from './fake-answer.js';

/** One request on its way through a fake server. */
export interface Serving {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly record: RequestRecord;
  readonly planned: FaultInPlay | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly handle: (request: FakeRequest) => Promise<FakeAnswer>;
  readonly maxBodyBytes: number;
  readonly maxLoggedBytes: number;
}

/** Reads, handles and answers the request, or applies the planned fault. Rethrows the handler's error. */
export async function serveRequest(serving: Serving): Promise<void> {
  const { message, response, record, planned } = serving;
  const gone = new AbortController();
  response.on('close', () => {
    if (response.writableFinished) return;
    planned?.leave();
    // The vendor's connection is to the proxy that holds the request, and that one stays.
    if (planned?.fault.type !== 'late') gone.abort();
  });
  if (planned?.fault.type === 'drop' || planned?.fault.type === 'cut-body') {
    if (planned.fault.type === 'cut-body') await firstPiece(message);
    message.socket.destroy();
    planned.begin();
    return;
  }
  const body = await wholeBody(serving);
  if (body === undefined) return;
  record.body = body.subarray(0, serving.maxLoggedBytes);
  record.isWhole = true;
  const request = requestOf(serving, body, gone.signal);
  const handled = async () => {
    record.timesHandled += 1;
    record.handledAt.push(fakeTime());
    const answer = await serving.handle(request);
    record.answers.push(answer);
    return answer;
  };
  if (planned === undefined) await deliver(response, await handled());
  else await meetFault(response, planned, handled);
}

async function meetFault(
  response: ServerResponse,
  planned: FaultInPlay,
  handled: () => Promise<FakeAnswer>,
): Promise<void> {
  const { fault } = planned;
  if (fault.type === 'late') {
    response.destroy();
    planned.begin();
    await planned.released;
    await handled();
    return;
  }
  const answer = isHandled(planned) ? await handled() : {};
  const last = fault.type === 'twice' ? await handled() : answer;
  planned.begin();
  switch (fault.type) {
    case 'lose-answer':
      response.destroy();
      return;
    case 'hang':
      return;
    case 'slow-answer':
      await (fault.afterMs === undefined ? planned.released : sleep(fault.afterMs));
      return deliver(response, last);
    case 'altered':
      return deliver(response, fault.alter(last));
    case 'early-headers':
      return deliverEarly(response, last, planned.released);
    case 'informed':
      response.writeProcessing();
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      return deliver(response, last);
    case 'trickle':
      return deliverTrickling(response, last, planned, fault);
    case 'truncated':
      return deliverHalf(response, last);
    case 'huge':
      return deliverWithoutEnd(response, last, planned);
    case 'html':
      return deliver(response, htmlAnswer(fault));
    case 'wrong-type': {
      const { contentType = 'application/octet-stream' } = fault;
      const { json, body = '', status = 200 } = last;
      return deliver(response, {
        status,
        headers: { ...last.headers, 'content-type': contentType },
        body: json === undefined ? body : JSON.stringify(json),
      });
    }
    case 'redirect':
      return deliver(response, { status: fault.status ?? 307, headers: { location: fault.to } });
    case 'status':
      return deliver(response, { status: fault.status, headers: fault.headers ?? {}, body: fault.body ?? '' });
    case 'twice':
    case 'drop':
    case 'cut-body':
      return deliver(response, last);
  }
}

/** Faults that replace the answer say it themselves; all others are of a request that is handled. */
function isHandled({ fault }: FaultInPlay): boolean {
  if (fault.type === 'redirect' || fault.type === 'status') return fault.isHandled ?? false;
  return 'isHandled' in fault ? (fault.isHandled ?? true) : true;
}

/** The body, or undefined where it never came whole. */
async function wholeBody({ message, response, maxBodyBytes }: Serving): Promise<Buffer | undefined> {
  try {
    return await readBody(message, maxBodyBytes);
  } catch (error) {
    if (error instanceof BodyTooLarge) response.writeHead(413, { connection: 'close' }).end();
    return undefined;
  }
}

/** Resolves with the first piece of the body, or at the end of one that has none. */
async function firstPiece(message: IncomingMessage): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const event of ['data', 'end', 'close'] as const) message.once(event, () => resolve());
  });
}

function requestOf({ message, record, params }: Serving, body: Buffer, gone: AbortSignal): FakeRequest {
  return {
    method: record.method,
    path: record.path,
    query: new URLSearchParams(record.query),
    params,
    headers: message.headers,
    body,
    gone,
    json: () => JSON.parse(body.toString('utf8')) as unknown,
    form: () => formOf(body, message.headers),
  };
}
