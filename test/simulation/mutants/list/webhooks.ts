import type { Mutant } from '../mutant.js';

const DECIDE = 'core/webhooks/decide.js';

/** Possible mistakes about the content and the order of webhooks. */
export const WEBHOOK_MUTANTS: readonly Mutant[] = [
  {
    name: 'settled-before-it-was-announced',
    breaks: [27],
    file: 'core/generation/settle-generation.js',
    find:
      'await Promise.all([paid, announceState(context, generation)]); ' +
      'const retention = retentionOf(generation, context.settings); ' +
      "const changed = await tryChange(context, generation, { event: 'settle', ...retention });",
    replace:
      'await paid; const retention = retentionOf(generation, context.settings); ' +
      "const changed = await tryChange(context, generation, { event: 'settle', ...retention }); " +
      'await announceState(context, generation);',
    why: 'Recovery looks at what lacks the mark: an end that is not announced before it is lost with the process.',
  },
  {
    name: 'two-send-a-delivery-at-once',
    breaks: [27],
    file: DECIDE,
    find: 'return lease !== undefined && lease.expiresAt > now && !isFarAhead(lease.startedAt, now);',
    replace: 'return false;',
    why: 'A start that is still on its way arrives after the end that another process has sent.',
  },
  {
    name: 'refused-message-counts-as-delivered',
    breaks: [27],
    file: 'core/webhooks/send-delivery.js',
    find: 'status >= 200 && status < 300',
    replace: 'status >= 200',
    why: 'What a receiver answers with an error is never sent again.',
  },
  {
    name: 'start-and-end-under-one-message-id',
    breaks: [27],
    file: 'core/webhooks/delivery.js',
    find: "digests.ofJson(['message', deliveryId, event])",
    replace: "digests.ofJson(['message', deliveryId])",
    why: 'A receiver that remembers ids takes the end for the start, which it has seen.',
  },
  {
    name: 'end-not-announced-over-a-start',
    breaks: [27],
    file: DECIDE,
    find: "if (!isLater(command.of, d.event)) return { refused: 'NOTHING_TO_DO' };",
    replace: "return { refused: 'NOTHING_TO_DO' };",
    why: 'An endpoint that was told of the start has its delivery, and is never told of the end.',
  },
  {
    name: 'start-that-was-taken-ends-the-delivery',
    breaks: [27],
    file: DECIDE,
    find: 'if (event !== d.event || lease.isReplayed) return { next: isOpen(d) ? { ...ended, nextAttemptAt: now } : ended };',
    replace: '',
    why: 'The end was announced while the start was sent, and the success of that counts for both.',
  },
  {
    name: 'lost-wake-up-of-a-delivery-stays-lost',
    breaks: [27],
    file: 'core/recovery/recover.js',
    find: "wakeDelivery(context, delivery, now); return 'woken';",
    replace: "return 'woken';",
    why: 'A delivery whose process died waits for a wake-up that nobody sends.',
  },
];
