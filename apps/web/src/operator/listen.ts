import { API, envelopeIn, refusalOf, RequestFailed, unreadable } from '../server.js';

const CUT = 'The connection to the server was lost. Try again.';

/** Asks for something that answers with a line of JSON at a time. Throws `RequestFailed`. */
export async function* linesOf<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const init: RequestInit = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
    signal,
    cache: 'no-store',
  };
  const response = await fetch(API + path, init).catch(() => {
    throw new RequestFailed(CUT);
  });
  if (!response.ok || response.body === null) throw refusalOf(await envelopeIn(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new RequestFailed(CUT);
    });
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield lineOf<T>(line);
  }
}

function lineOf<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw unreadable();
  }
}
