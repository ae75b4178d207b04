/**
 * One life of a process, from its start to its end. Leases and claims carry its id.
 *
 * `isExclusive`: only this process takes leases and claims in the stores of generations and claims, and the process
 * that took them before has ended. Only a driver can know that, by a lock on the store itself that ends with its
 * process. Leases and claims of an earlier boot then count as lapsed at once.
 *
 * Only waiting depends on it. If it were wrongly true, two processes would take generations and keys from each other,
 * and some generations would fail. But fences still grow, writes still name their version, and an id is still precluded
 * before another one is minted. So nothing is charged twice or above its hold, and no attempt is submitted twice: a
 * submission that may be in flight is waited for all the same.
 */
export interface Boot {
  /** A UUID that no other boot has. */
  readonly id: string;
  readonly isExclusive: boolean;
}

/** Whether a lease or claim with this boot id belongs to a process that has ended. Earlier releases wrote no id. */
export function isLeftByAnother(boot: Boot, bootId: string | undefined): boolean {
  return boot.isExclusive && bootId !== boot.id;
}
