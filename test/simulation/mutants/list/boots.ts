import type { Mutant } from '../mutant.js';

const BOOT = 'core/boot.js';

/** Possible mistakes about processes that are gone. */
export const BOOT_MUTANTS: readonly Mutant[] = [
  {
    name: 'boot-void-on-shared-store',
    breaks: [11, 14],
    file: BOOT,
    find: 'return boot.isExclusive && bootId !== boot.id;',
    replace: 'return bootId !== boot.id;',
    why: 'Whoever has another boot is taken for gone, though other processes share the store.',
  },
  {
    name: 'submitting-not-waited',
    breaks: [5, 14],
    file: 'core/generation/decide.js',
    find: "return !(g.attempt?.phase === 'submitting' && hasTimeLeft(g, now));",
    replace: 'return true;',
    why: 'What a process that is gone was about to hand over is taken over before it can have arrived.',
  },
  {
    name: 'gone-boot-waited-for',
    breaks: [12, 20],
    file: BOOT,
    find: 'return boot.isExclusive && bootId !== boot.id;',
    replace: 'return false;',
    why: 'Leases and claims of a process that is known to be gone are waited for.',
  },
  {
    name: 'cut-runs-not-resumed',
    breaks: [20],
    file: 'core/recovery/recover.js',
    find: 'await resumeRuns(this.context, this.takeOver, () => !this.isStopped);',
    replace: '',
    why: 'A start leaves what was running to recovery, which looks when leases have lapsed.',
  },
  {
    name: 'cut-claims-waited-for',
    breaks: [12],
    file: 'core/idempotency/claims.js',
    find: '!isLeftByAnother(boot, bootId) && leaseExpiresAt > now',
    replace: 'leaseExpiresAt > now',
    why: 'A retry is told to wait for a request whose process is gone.',
  },
];
