import type { JsonObject } from '../../../core/json.js';
import { asObject, textOf } from '../../history/values.js';
import type { StreamedEvent } from '../history/stream-history.js';

/** Server-sent events as they come, in pieces that end anywhere. What is not whole is not told. */
export async function* readEvents(pieces: AsyncIterable<Uint8Array>, now: () => number): AsyncGenerator<StreamedEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true });
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const fields = new Map(frame.split('\n').map((line) => fieldOf(line)));
      const data = fields.get('data');
      if (data === undefined) continue;
      const { task } = JSON.parse(data) as JsonObject;
      yield { at: now(), id: textOf(fields.get('id')), type: textOf(fields.get('event')), task: asObject(task) };
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}
