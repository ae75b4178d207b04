import type { Mutant } from '../mutant.js';

const AUTHENTICATE = 'core/access/authenticate.js';
const CAP = "...(capCredits === undefined ? {} : { cap: { credits: capCredits, per: 'life' } }),";

/** Possible mistakes about programs that people have connected. */
export const PROGRAM_MUTANTS: readonly Mutant[] = [
  {
    name: 'ended-grant-still-taken',
    breaks: [18],
    file: 'core/people/grants.js',
    find: 'token.endedAt !== undefined || grant.endedAt !== undefined || ',
    replace: '',
    why: 'A token is taken until it expires, although its person has ended the connection.',
  },
  {
    name: 'cap-of-a-grant-forgotten',
    breaks: [24],
    file: AUTHENTICATE,
    find: CAP,
    replace: '',
    why: 'A program may spend all that the account has, whatever its person allowed.',
  },
  {
    name: 'cap-of-a-grant-by-month',
    breaks: [24],
    file: AUTHENTICATE,
    find: CAP,
    replace: CAP.replace('life', 'month'),
    why: 'A program may spend as much as its person allowed in each month, and not once.',
  },
];
