import type { JsonObject } from '../../../core/json.js';
import { asObject, textOf } from '../../history/values.js';
import type { StreamedEvent } from '../history/stream-history.js';

/** Server-sent events as they come, in pieces that end anywhere. What is not whole is not told. */
export async function* readEvents(
  pieces: AsyncIterable<Uint8Array>,
  now: () => number,
): AsyncGenerator<StreamedEvent & { readonly data: JsonObject }> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    const frames = rest.split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const fields = new Map(frame.split('\n').map((line) => fieldOf(line)));
      const text = fields.get('data');
      if (text === undefined) continue;
      const data = JSON.parse(text) as JsonObject;
      const [id, type] = [textOf(fields.get('id')), textOf(fields.get('event'))];
      yield { at: now(), id, type, task: asObject(data['task']), data };
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}
