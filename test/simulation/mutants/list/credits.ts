import type { Mutant } from '../mutant.js';

const DECIDE = 'core/credits/decide.js';
const ACCOUNT_WRITER = 'core/credits/account-writer.js';

/** Possible mistakes about money. */
export const CREDIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'settle-without-hold',
    breaks: [5, 12],
    file: DECIDE,
    find: 'if (!open) return { done: true }; const { charge } = command;',
    replace:
      'const { charge } = command; if (!open) return charge === 0 ? { done: true } ' +
      ": { moves: [moveOf('charge', 'available', 'spent', charge)] };",
    why: 'A charge that finds no hold is taken from the balance, so that it cannot be lost.',
  },
  {
    name: 'rest-of-a-hold-kept',
    breaks: [4],
    file: DECIDE,
    find: 'if (rest > 0 || charge === 0)',
    replace: 'if (charge === 0)',
    why: 'Either the charge or the release is written, and a part delivered leaves the rest reserved.',
  },
  {
    name: 'adjustment-takes-what-there-is',
    breaks: [1],
    file: DECIDE,
    find: "if (account.available + credits < 0) return { refused: 'CREDITS_INSUFFICIENT' };",
    replace:
      "if (account.available + credits < 0) return { moves: [moveOf('adjustment', 'available', 'issued', account.available)] };",
    why: 'An adjustment below zero is cut down to the balance instead of being refused.',
  },
  {
    name: 'overdraft',
    breaks: [2, 13],
    file: DECIDE,
    find: "if (account.available < credits) return { refused: 'CREDITS_INSUFFICIENT' };",
    replace: "if (account.issued < credits) return { refused: 'CREDITS_INSUFFICIENT' };",
    why: 'The price is compared with what was ever issued, not with what is left; only an assertion stands behind it.',
  },
  {
    name: 'open-generations-unbounded',
    breaks: [20],
    file: DECIDE,
    find: 'if (account.holds.size >= command.maxOpenHolds)',
    replace: 'if (account.holds.size < 0)',
    why: 'The cap on open generations is not applied.',
  },
  {
    name: 'grant-given-again',
    breaks: [1, 12],
    file: DECIDE,
    find: 'const before = account.operations.get(operationId);',
    replace: 'const before = undefined;',
    why: 'That an operation was done before is not looked up, so that a repeated grant counts twice.',
  },
  {
    name: 'conflict-taken-for-applied',
    breaks: [1, 4],
    file: ACCOUNT_WRITER,
    find: "return outcome === 'applied' ? { outcome: 'accepted', existing: [] } : { outcome, claimsStand: false };",
    replace: "return { outcome: 'accepted', existing: [] };",
    why: 'What the store says to a write is not looked at, and a lost race is answered as done.',
  },
  {
    name: 'refusal-on-an-old-state',
    breaks: [4, 13],
    file: ACCOUNT_WRITER,
    find: "if (!isFresh && ('failed' in decision || needsFreshState(decision)))",
    replace: "if (!isFresh && 'failed' in decision)",
    why: 'A refusal, or that a hold is gone, is believed of a state that another process has moved on from.',
  },
  {
    name: 'batch-does-not-see-itself',
    breaks: [4, 5],
    file: 'core/credits/decide.js',
    find: 'return this.opened.get(generationId) ?? (this.closed.has(generationId) ? undefined : this.base.get(generationId));',
    replace: 'return this.base.get(generationId);',
    why: 'Two commands of one write on the same hold are each decided as if they were alone.',
  },
  {
    name: 'balance-counts-what-is-held',
    breaks: [1],
    file: 'core/credits/operate.js',
    find: 'availableCredits: account.available,',
    replace: 'availableCredits: account.available + account.reserved,',
    why: 'A client is shown what was not spent yet instead of what it can still reserve.',
  },
  {
    name: 'price-rounded-twice',
    breaks: [2, 3],
    file: 'core/catalog/price.js',
    find: 'let amount = BigInt(rate.microcreditsPerUnit) * quantity;',
    replace: 'let amount = ((BigInt(rate.microcreditsPerUnit) * quantity + MICRO - 1n) / MICRO) * MICRO;',
    why: 'The price of the units is rounded up before it is multiplied, and then again.',
  },
  {
    name: 'settled-before-the-money-moves',
    breaks: [4],
    file: 'core/generation/settle-generation.js',
    find:
      'await Promise.all([paid, announceState(context, generation)]); ' +
      'const retention = retentionOf(generation, context.settings); ' +
      "const changed = await tryChange(context, generation, { event: 'settle', ...retention });",
    replace:
      'paid.catch(() => undefined); await announceState(context, generation); ' +
      'const retention = retentionOf(generation, context.settings); ' +
      "const changed = await tryChange(context, generation, { event: 'settle', ...retention }); " +
      'await paid;',
    why: 'The generation says that it is settled while its hold is still open.',
  },
  {
    name: 'waiting-charge-taken-for-made',
    breaks: [4],
    file: 'core/generation/settle-generation.js',
    find: 'await Promise.all([paid, announceState(context, generation)]);',
    replace:
      'paid.catch(() => undefined); await Promise.all([mayWait ? undefined : paid, announceState(context, generation)]);',
    why: 'The generation says that it is settled while its charge waits to be written with others.',
  },
];
