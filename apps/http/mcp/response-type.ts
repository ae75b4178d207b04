import type { JsonObject } from '../../../core/json.js';
import type { HttpContext } from '../host/http-context.js';

/** The types of a response that the client of a message takes. */
export interface TakenTypes {
  readonly json: boolean;
  readonly stream: boolean;
}

export const JSON_MEDIA_TYPE = 'application/json';
const STREAM_MEDIA_TYPE = 'text/event-stream';

/** Parameters of media ranges other than their weights. */
const PARAMETERS = /;(?![ \t]*q[ \t]*=)[^;,]*/gi;

/** Reads Accept (RFC 9110 §12.5.1): without it all types are taken, and q=0 excludes one. */
export function takenTypes(ctx: HttpContext): TakenTypes {
  const { headers } = ctx.req;
  // No parameter would select another response.
  if (headers.accept !== undefined) headers.accept = headers.accept.replaceAll(PARAMETERS, '');
  return { json: ctx.accepts(JSON_MEDIA_TYPE) !== false, stream: ctx.accepts(STREAM_MEDIA_TYPE) !== false };
}

const LISTEN = 'subscriptions/listen';
const BOTH = `${JSON_MEDIA_TYPE}, ${STREAM_MEDIA_TYPE}`;

/** Thrown for a client that takes neither type. The head of its message is enough to refuse it. */
export class NotAcceptable extends Error {
  readonly status = 406;
  /** An error of JSON-RPC; the message has not been read, so its id is unknown. */
  readonly text = JSON.stringify(refusalOf({}, `Not acceptable: the client must accept ${BOTH}.`));
}

/** Throws NotAcceptable; to be called before a body is read. */
export function requireSomeType({ json, stream }: TakenTypes): void {
  if (!json && !stream) throw new NotAcceptable();
}

type Respond = (request: Request) => Promise<Response>;

/**
 * Responds in a type that the client takes. The library serves only clients that name both types, and selects one by
 * itself: its response is then given the other form. Without a stream there is no progress, and nothing to listen to.
 */
export async function inTakenType(
  takes: TakenTypes,
  message: JsonObject,
  request: Request,
  respond: Respond,
): Promise<Response> {
  if (!takes.stream && message['method'] === LISTEN)
    return refusal(406, message, `Not acceptable: the client must accept ${STREAM_MEDIA_TYPE}.`);
  request.headers.set('accept', BOTH);
  const response = await respond(request);
  const type = response.headers.get('content-type') ?? '';
  if (!takes.stream && type.startsWith(STREAM_MEDIA_TYPE)) return asJson(response, message);
  if (!takes.json && response.ok && type.startsWith(JSON_MEDIA_TYPE)) return asStream(response);
  return response;
}

/** The response to a message alone, without the notifications before it. */
async function asJson(response: Response, message: JsonObject): Promise<Response> {
  const messages = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'));
  const result = messages.map((line) => line.slice('data: '.length)).find(isResponse);
  if (result === undefined) return refusal(500, message, 'The call was broken off.');
  return new Response(result, { headers: { 'Content-Type': JSON_MEDIA_TYPE } });
}

function isResponse(text: string): boolean {
  const message = JSON.parse(text) as JsonObject;
  return 'result' in message || 'error' in message;
}

async function asStream(response: Response): Promise<Response> {
  return new Response(`event: message\ndata: ${await response.text()}\n\n`, {
    headers: { 'Content-Type': STREAM_MEDIA_TYPE },
  });
}

/** An error of JSON-RPC, in the form that the library gives its own refusals. */
function refusal(status: number, refused: JsonObject, message: string): Response {
  return Response.json(refusalOf(refused, message), { status });
}

function refusalOf({ id = null }: JsonObject, message: string): JsonObject {
  return { jsonrpc: '2.0', error: { code: -32_000, message }, id };
}
