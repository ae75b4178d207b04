import type { Mutant } from '../../simulation/mutants/mutant.js';

type Change = Pick<Mutant, 'name' | 'file' | 'find' | 'replace'>;

/**
 * Shortens the delays of webhooks from hours and days to seconds, so that a run sees what follows them. They are
 * constants of core rather than settings, so the compiled text is changed as it is loaded. A lease still outlasts what
 * it guards: the time until a message leaves, its sending, and the freezing of a process.
 */
export const QUICK_WEBHOOKS: readonly Change[] = [
  {
    name: 'quick-retries',
    file: 'core/webhooks/decide.js',
    find: '5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 23 * HOUR + 25 * MINUTE',
    replace: '300, 600, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000',
  },
  {
    name: 'quick-sending',
    file: 'core/webhooks/send-delivery.js',
    find: 'SEND_MS = 15_000',
    replace: 'SEND_MS = 3_000',
  },
  {
    name: 'quick-lease',
    file: 'core/webhooks/send-delivery.js',
    find: 'SEND_MS + 75_000',
    replace: 'SEND_MS + 12_000',
  },
  {
    name: 'quick-attention',
    file: 'core/webhooks/decide.js',
    find: 'ATTENTION_MARGIN_MS = 60_000',
    replace: 'ATTENTION_MARGIN_MS = 2_000',
  },
  {
    name: 'quick-second-look',
    file: 'core/recovery/recover.js',
    find: 'DELIVERY_AGAIN_MS = 10 * 60_000',
    replace: 'DELIVERY_AGAIN_MS = 5_000',
  },
  {
    name: 'quick-disabling',
    file: 'core/webhooks/send-delivery.js',
    find: 'FAILING_MS = 5 * 86_400_000',
    replace: 'FAILING_MS = 30_000',
  },
];
