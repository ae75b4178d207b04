import type { Context } from '../../../core/context.js';
import { periodOf, usedIn, type Cap } from '../../../core/credits/cap.js';

/** The used credits of capped credentials of an account, in their present period. Null for one without a cap. */
export type ReadUse = (credentialId: string, cap: Cap | undefined) => number | null;

/** Reads the account only if some credential has a cap: its holds, which may be many, are read with it. */
export async function readCapUses(
  { accounts, clock }: Pick<Context, 'accounts' | 'clock'>,
  accountId: string,
  hasCaps: boolean,
): Promise<ReadUse> {
  const account = hasCaps ? await accounts.read(accountId) : null;
  return (credentialId, cap) => {
    if (cap === undefined) return null;
    const stored = account?.capUses?.get(credentialId);
    return usedIn(periodOf(cap, stored, clock.now()), stored);
  };
}
