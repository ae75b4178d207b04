import type { Context } from '../../context.js';
import type { Generation } from '../generation.js';
import { mayResubmit } from './failures.js';
import type { RunRules } from './next-step.js';
import { hasOtherProvider, type Execution } from './unknown-model.js';

/** What of the model, its provider and the settings holds for a whole run. */
export function rulesOf(
  context: Pick<Context, 'catalog' | 'providers' | 'settings' | 'boot'>,
  generation: Generation,
  execution: Execution,
): RunRules & { readonly answersWithOutputs: boolean } {
  const { settings, boot } = context;
  const { model } = execution;
  const { answersWithOutputs, settleMs, isPaid } = execution.provider.promises(execution.settings);
  return {
    mayResubmit: mayResubmit(model),
    mayReplaceOutputs: (model.onInvalidOutput ?? (isPaid ? 'fail' : 'resubmit')) === 'resubmit',
    pollIntervalMs: model.pollIntervalMs,
    answersWithOutputs,
    settleMs,
    longestSubmitMs: answersWithOutputs ? generation.terms.runTimeoutMs : settings.providerCallMs,
    hasOtherProvider: hasOtherProvider(context, generation, execution),
    boot,
    settings,
  };
}
