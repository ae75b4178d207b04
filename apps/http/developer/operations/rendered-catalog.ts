import type { Context } from '../../../../core/context.js';
import type { JsonObject } from '../../../../core/json.js';
import type { Answer } from '../../host/answer.js';

/** A catalog snapshot never changes, so each part of it is rendered once. */
const rendered = new WeakMap<object, Answer>();

/** The answer of a list or a model of a snapshot, with its ETag. */
export function answerOnce(part: object, render: () => JsonObject, digests: Context['digests']): Answer {
  let found = rendered.get(part);
  if (!found) {
    const data = render();
    // Weak, because the envelope around the data differs with every request.
    const etag = `W/"${digests.ofJson(data).slice(0, 32)}"`;
    found = { data: { text: JSON.stringify(data) }, headers: { 'ETag': etag, 'Cache-Control': 'no-cache' } };
    rendered.set(part, found);
  }
  return found;
}
