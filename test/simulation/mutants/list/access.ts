import type { Mutant } from '../mutant.js';

const GET = 'core/generation/read-generations.js';

/** Possible mistakes about who may see and do what. */
export const ACCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'readable-by-another-app',
    breaks: [17],
    file: GET,
    find: 'const isOwn = record !== null && record.accountId === caller.accountId && record.appId === caller.appId;',
    replace: 'const isOwn = record !== null && record.accountId === caller.accountId;',
    why: 'A generation can be read and cancelled by every App of its account.',
  },
  {
    name: 'foreign-id-told-apart',
    breaks: [17],
    file: GET,
    find: "if (!isOwn || record.kind === 'void')",
    replace:
      "if (record && !isOwn) throw new ServiceError('DEVELOPER_SCOPE_INSUFFICIENT'); if (!isOwn || record.kind === 'void')",
    why: "Somebody else's id is refused with a code of its own, which tells that it exists.",
  },
  {
    name: 'revocation-never-seen',
    breaks: [18],
    file: 'core/access/authenticate.js',
    find: 'export const CREDENTIAL_CACHE_MS = 3_000;',
    replace: 'export const CREDENTIAL_CACHE_MS = 3_000_000;',
    why: 'A credential that was read once is trusted for an hour, milliseconds taken for seconds.',
  },
  {
    name: 'hold-on-a-suspended-account',
    breaks: [18],
    file: 'core/credits/decide.js',
    find: "if (account.suspendedAt !== undefined) return { refused: 'ACCOUNT_SUSPENDED' };",
    replace: '',
    why: 'Only authentication looks at a suspension, and what it remembers of a key lets a request slip past.',
  },
  {
    name: 'suspension-not-authenticated',
    breaks: [18],
    file: 'core/access/authenticate.js',
    find: 'isSuspended: account?.suspendedAt !== undefined',
    replace: 'isSuspended: false',
    why: 'A key of a suspended account still reads and cancels, since only what spends is refused.',
  },
];
