import type { Mutant } from '../mutant.js';

const DECIDE = 'core/credits/decide.js';

/** Possible mistakes about spending caps. */
export const CAP_MUTANTS: readonly Mutant[] = [
  {
    name: 'cap-not-applied',
    breaks: [24],
    file: DECIDE,
    find: "if (!(used <= cap.credits)) return 'over';",
    replace: '',
    why: 'What the key has used is counted, and never compared with its cap.',
  },
  {
    name: 'cap-compared-before-the-hold',
    breaks: [24],
    file: DECIDE,
    find: "if (!(used <= cap.credits)) return 'over';",
    replace: "if (!(used - credits < cap.credits)) return 'over';",
    why: 'A key that has anything left of its cap may spend more than that.',
  },
  {
    name: 'cap-not-given-back',
    breaks: [24],
    file: DECIDE,
    find: 'if (attribution?.capPeriod === undefined || rest === 0) return {};',
    replace: 'return {};',
    why: 'What was held and not charged stays counted for the rest of the month.',
  },
  {
    name: 'cap-given-back-whole',
    breaks: [24],
    file: DECIDE,
    find: '...countRelease(account, open, rest) }',
    replace: '...countRelease(account, open, open.credits) }',
    why: 'The end of a hold gives the whole hold back to the cap, also what was charged.',
  },
  {
    name: 'cap-of-a-batch-not-seen',
    breaks: [24],
    file: 'core/credits/decide.js',
    find: 'return this.changed.has(credentialId) ? this.changed.get(credentialId) : this.base.get(credentialId);',
    replace: 'return this.base.get(credentialId);',
    why: 'Holds that are written together each see the use before all of them.',
  },
];
