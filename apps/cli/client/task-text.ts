import { facts } from '../terminal.js';
import type { GenerationTask } from '../../../clients/typescript/src/index.js';

/** A generation as a person reads it. */
export function taskText(task: GenerationTask): string {
  return facts([
    ['generation', task.generation_id],
    ['status', task.status],
    ['model', task.model_key],
    ['created', task.created_at],
    ['completed', task.completed_at],
    [
      'credits',
      task.completed_at === undefined ? `${task.reserved_credits} reserved` : `${task.charged_credits} charged`,
    ],
    ['error', task.error && `${task.error.message} (${task.error.code})`],
    ['trace id', task.client_trace_id],
    ...task.outputs.map(({ media_type, width, height, duration_ms, url }, index): [string, string] => {
      const size = width === undefined ? '' : ` ${width}x${height}`;
      return [
        `output ${index + 1}`,
        `${media_type}${size}${duration_ms === undefined ? '' : ` ${duration_ms} ms`} ${url}`,
      ];
    }),
  ]);
}
