import { create, toBinary, type Message } from '@bufbuild/protobuf';
import type { GenerationView } from '../../../core/generation/generation-view.js';
import { KeptViews } from '../../requests/kept-views.js';
import { GetGenerationResponseSchema, type GetGenerationResponse } from '../generated/darkroom/v1/generations_pb.js';
import { renderGeneration } from './generation.js';

const BYTES = new WeakMap<Message, Uint8Array>();

const ANSWERS = new KeptViews((view, isKept) => {
  const answer = create(GetGenerationResponseSchema, { generation: renderGeneration(view) });
  if (isKept) BYTES.set(answer, toBinary(GetGenerationResponseSchema, answer));
  return answer;
});

/** The answer that shows a whole generation; the message and its bytes are kept where the view is. */
export function answerOf(view: GenerationView): GetGenerationResponse {
  return ANSWERS.of(view);
}

/** The bytes of a message, where they are kept. */
export function keptBytes(message: Message): Uint8Array | undefined {
  return BYTES.get(message);
}
