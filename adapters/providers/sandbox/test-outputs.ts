import type { Behaviour, Plan, Size } from './plan.js';
import type { ProviderFailure } from '../../../core/ports/provider.js';
import type { Rendered, RenderOutcome } from './render-job.js';

/** An 8×8 PNG of one colour: what the model that paints nothing delivers. */
export const CONSTANT_PNG: Uint8Array = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEUlEQVQI12OwyluKFTEMLQkAbOhTQRpLvTMAAAAASUVORK5CYII=',
  'base64',
);

/** A PNG by its first bytes, and nothing after them that decodes. */
const BROKEN_PNG = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  Buffer.from('These bytes are not a picture. '.repeat(8)),
]);

export function constantOutputs(count: number): Rendered[] {
  return Array.from({ length: count }, () => ({ kind: 'image', mediaType: 'image/png', bytes: CONSTANT_PNG }));
}

/** The size to paint at; a wrong output is painted at half the size. */
export function sizeToPaint(plan: Extract<Plan, { painter: 'test' }>): Size {
  if (plan.behaviour.name !== 'wrong_output') return plan.size;
  return { widthPx: plan.size.widthPx / 2, heightPx: plan.size.heightPx / 2 };
}

/** Turns what was painted into what the behaviour delivers. */
export function misbehave(behaviour: Behaviour, outcome: RenderOutcome): RenderOutcome {
  if (outcome.state !== 'done') return outcome;
  if (behaviour.name === 'partial') return { state: 'done', outputs: outcome.outputs.slice(0, behaviour.deliver) };
  if (behaviour.name === 'bad_output')
    return { state: 'done', outputs: outcome.outputs.map((output) => ({ ...output, bytes: BROKEN_PNG })) };
  return outcome;
}

/** How attempt number `attempt` (from 1) fails, if it does. */
export function plannedFailure(behaviour: Behaviour, attempt: number): ProviderFailure | undefined {
  if (behaviour.name !== 'fail' && behaviour.name !== 'refuse') return undefined;
  const { errorCode, retryableAttempts } = behaviour;
  if (retryableAttempts === 0)
    return { code: errorCode, message: 'The test model was asked to fail.', mayRetry: false };
  if (attempt > retryableAttempts) return undefined;
  return {
    code: errorCode,
    message: `The test model was asked to fail; this was attempt ${attempt} of ${retryableAttempts}.`,
    mayRetry: true,
  };
}
