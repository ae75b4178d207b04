import type { JsonObject } from '../../../core/json.js';
import { textOf } from '../../history/values.js';
import { parametersOf } from './prices.js';

/**
 * How a generation may end when nothing goes wrong and nobody cancels it: with so many outputs, with this error, or
 * either way.
 */
export interface Wish {
  readonly outputs?: number;
  readonly error?: string;
}

/** What a client asked for, by the documentation of the sandbox's models. */
export function wishOf(models: readonly JsonObject[], body: JsonObject): Wish {
  const parameters = parametersOf(models, body);
  const parameter = (name: string) => parameters[name];
  const all = { outputs: Number(parameter('n') ?? 1) };
  if (body['model_key'] !== 'sandbox-test') return all;
  const error = textOf(parameter('error_code'));
  switch (textOf(parameter('behaviour'))) {
    case 'partial': {
      const outputs = Math.min(Number(parameter('deliver')), all.outputs);
      return outputs === 0 ? { error: 'OUTPUT_INVALID' } : { outputs };
    }
    // Each worker's sandbox counts attempts for itself: three that fall to different workers all fail.
    case 'fail':
      return Number(parameter('retryable_attempts') ?? 0) > 0 ? { ...all, error } : { error };
    case 'refuse':
      return { error };
    case 'bad_output':
      return { error: 'OUTPUT_INVALID' };
    case 'hang':
      return { error: 'TASK_TIMEOUT' };
    default:
      return all;
  }
}

/** Whether only a success is what was asked for. */
export function mustSucceed({ outputs, error }: Wish): boolean {
  return outputs !== undefined && error === undefined;
}
